import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { KnowledgeFeed, type Following } from '../../src/operations/knowledge-feed.ts';
import { RecentChanges } from '../../src/operations/recent-changes.ts';
import { readHead, type Change } from '../../src/store/changes.ts';
import { Database } from '../../src/store/database.ts';
import { EventListener } from '../../src/store/event-listener.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { growLog, loadVersion } from '../support/knowledge.ts';
import { PostgresProxy } from '../support/postgres-proxy.ts';
import { eventually } from '../support/processes.ts';

let database: TestDatabase;
let agentKey = '';
let agents = 0;
const stack = new AsyncDisposableStack();
beforeAll(async () => {
  database = stack.use(await createTestDatabase());
});
afterAll(() => stack.disposeAsync());
beforeEach(async () => {
  agents += 1;
  agentKey = `agent_${agents}`;
  await loadVersion(database, { agentKey, files: { 'a.md': 'one' } });
});

/** A feed of this test's own, with the real listener. */
function openFeed(on: { readonly database: Database; readonly url: string } = suite()) {
  const context = { database: on.database, clock: () => new Date() };
  return new KnowledgeFeed(context, (hint) => EventListener.open(on.url, hint));
}

const suite = () => ({ database: database.database, url: database.applicationUrl });

/** This test's agent, from now on. */
async function following(change: Partial<Following> = {}): Promise<Following> {
  const key = agentKey;
  return {
    caller: database.context().caller,
    after: await database.database.read(readHead),
    agentKey: key,
    environment: 'production',
    sees: (one) => one.agentKey === key,
    ...change,
  };
}

const grow = (count: number): Promise<void> => growLog(database, agentKey, count);

async function take(changes: AsyncIterator<Change>, count: number): Promise<number[]> {
  const sequences: number[] = [];
  while (sequences.length < count) {
    const next = await changes.next();
    if (next.done) throw new Error(`Expected ${count} changes; the stream ended behind ${sequences.length}.`);
    sequences.push(next.value.sequence);
  }
  return sequences;
}

const listeners = () =>
  database.asSuperuser(async (client) => {
    const { rowCount } = await client.query(
      `select from pg_stat_activity where application_name = 'agent-knowledge listener' and datname = current_database()`,
    );
    return rowCount;
  });

const upFrom = (first: number, count: number) => Array.from({ length: count }, (_, index) => first + index);

describe('the end of the log in memory', () => {
  const change = (sequence: number) => ({ sequence }) as Change;
  const numbers = (recent: RecentChanges, cursor: number) =>
    recent.behind(cursor)?.map(({ sequence }) => sequence) ?? null;

  it('serves who stands exactly where it begins, and nobody further back', () => {
    const recent = new RecentChanges(10);
    recent.add([change(12), change(15)], 20);
    expect(numbers(recent, 9)).toBeNull();
    expect(numbers(recent, 10)).toEqual([12, 15]);
    expect(numbers(recent, 12)).toEqual([15]);
    expect(numbers(recent, 14)).toEqual([15]);
    expect(numbers(recent, 15)).toEqual([]);
    expect(numbers(recent, 20)).toEqual([]);
  });

  it('keeps so many at most, and begins behind the last one that it lets go', () => {
    const recent = new RecentChanges(0);
    recent.add(upFrom(1, RecentChanges.most).map(change), RecentChanges.most);
    expect(numbers(recent, 0)).toHaveLength(RecentChanges.most);
    const more = RecentChanges.most + 5;
    recent.add([change(more - 3), change(more)], more);
    expect(numbers(recent, 1)).toBeNull();
    expect(numbers(recent, 2)).toHaveLength(RecentChanges.most);
    expect(numbers(recent, more - 3)).toEqual([more]);
  });
});

describe('a follower', () => {
  it('misses nothing of a log that grows by more at once than memory holds', async () => {
    await using feed = openFeed();
    const request = await following();
    const followed = await feed.follow(request);
    const count = RecentChanges.most + 10;
    await grow(count);
    expect(await take(followed.changes, count)).toEqual(upFrom(request.after + 1, count));
    await grow(1);
    expect(await take(followed.changes, 1)).toEqual([request.after + count + 1]);
  });

  it('is told in order though it comes while the log grows, whether from memory or from the database', async () => {
    await using feed = openFeed();
    const request = await following();
    const early = await feed.follow(request);
    const growing = (async () => {
      for (let round = 0; round < 40; round += 1) await grow(3);
    })();
    await take(early.changes, 30);
    const late = await feed.follow(request);
    const expected = upFrom(request.after + 1, 120);
    expect(await take(late.changes, 120)).toEqual(expected);
    expect(await take(early.changes, 90)).toEqual(expected.slice(30));
    await growing;
  });

  it('has dealt with a change only once it asks for the next one', async () => {
    await using feed = openFeed();
    const request = await following();
    const followed = await feed.follow(request);
    await grow(2);
    expect(followed.place()).toBe(request.after);
    await take(followed.changes, 1);
    expect(followed.place()).toBe(request.after);
    await take(followed.changes, 1);
    expect(followed.place()).toBe(request.after + 1);
    const waiting = followed.changes.next();
    await eventually(
      async () => followed.place(),
      (place) => place === request.after + 2,
    );
    await followed.changes.return?.();
    expect((await waiting).done).toBe(true);
  });

  it('goes on counting what is not for it', async () => {
    await using feed = openFeed();
    const request = await following({ sees: () => false });
    const followed = await feed.follow(request);
    const waiting = followed.changes.next();
    await grow(3);
    await eventually(
      async () => followed.place(),
      (place) => place === request.after + 3,
    );
    await followed.changes.return?.();
    expect((await waiting).done).toBe(true);
  });

  it('can leave while it waits, and while its page is read, without waiting for either', async () => {
    await using feed = openFeed();
    const request = await following();
    const waiting = await feed.follow(request);
    const next = waiting.changes.next();
    await waiting.changes.return?.();
    expect(await next).toEqual({ done: true, value: undefined });

    await grow(1);
    await database.asSuperuser(async (client) => {
      await client.query('begin');
      await client.query('lock table agent_knowledge.knowledge_event in access exclusive mode');
      const reading = await feed.follow(request); // Behind what is in memory, so that a page is read for it.
      const page = reading.changes.next();
      await sleep(100);
      const left = reading.changes.return?.().then(() => 'left');
      expect(await Promise.race([left, sleep(3000, 'still there')])).toBe('left');
      await client.query('rollback');
      expect((await page).done).toBe(true);
    });
    expect(feed.callers).toHaveLength(0);
  });

  it('ends with RESET where the log is shorter than it was, and one who comes then goes on with the new log', async () => {
    await using feed = openFeed();
    await grow(5);
    const followed = await feed.follow(await following());
    const next = followed.changes.next();
    await database.asSuperuser(async (client) => {
      const shorter = `update agent_knowledge.event_head set sequence = sequence - 4, hash = (select hash from
        agent_knowledge.knowledge_event e where e.sequence = event_head.sequence - 4)`;
      await client.query('alter table agent_knowledge.knowledge_event disable trigger user');
      await client.query(shorter);
      await client.query(
        'delete from agent_knowledge.knowledge_event where sequence > (select sequence from agent_knowledge.event_head)',
      );
      await client.query('alter table agent_knowledge.knowledge_event enable trigger user');
      for (const trigger of ['event_append', 'event_notify'])
        await client.query(`alter table agent_knowledge.knowledge_event enable always trigger ${trigger}`);
    });
    await expect(next).rejects.toMatchObject({ code: 'RESET' });
    const request = await following();
    const again = await feed.follow(request);
    await grow(1);
    expect(await take(again.changes, 1)).toEqual([request.after + 1]);
  });
});

describe('a database that is away', () => {
  it('makes followers wait, in memory or in the middle of a page, and loses nothing', async () => {
    await using proxy = await PostgresProxy.open(database.applicationUrl);
    await using through = await Database.open({ url: proxy.url });
    await using feed = openFeed({ database: through, url: proxy.url });
    const request = await following();
    await grow(250); // More than a page.
    const behind = await feed.follow(request);
    const live = await feed.follow({ ...request, after: request.after + 250 });
    expect(await take(behind.changes, 200)).toHaveLength(200);
    proxy.refuse();
    const rest = take(behind.changes, 51);
    const news = take(live.changes, 1);
    await grow(1);
    expect(await Promise.race([rest, news, sleep(500, 'waiting')])).toBe('waiting');
    proxy.heal();
    expect(await rest).toEqual(upFrom(request.after + 201, 51));
    expect(await news).toEqual([request.after + 251]);
  });

  it('is asked over another connection where one has died without a word', async () => {
    await using proxy = await PostgresProxy.open(database.applicationUrl);
    await using through = await Database.open({ url: proxy.url });
    await using feed = openFeed({ database: through, url: proxy.url });
    const request = await following();
    const followed = await feed.follow(request);
    proxy.silence();
    await grow(1);
    expect(await take(followed.changes, 1)).toEqual([request.after + 1]);
    await followed.changes.return?.();
    const again = await feed.follow(request);
    expect(await take(again.changes, 1)).toEqual([request.after + 1]);
    proxy.cut(); // Else the pool would wait for the dead ones when it is closed.
  });

  it('refuses who comes then, and keeps nothing of it', async () => {
    await using proxy = await PostgresProxy.open(database.applicationUrl);
    await using through = await Database.open({ url: proxy.url });
    await using feed = openFeed({ database: through, url: proxy.url });
    const request = await following();
    proxy.refuse();
    const asking = [feed.follow(request), feed.follow(request)];
    for (const one of asking) await expect(one).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(feed.callers).toHaveLength(0);
    proxy.heal();
    const followed = await feed.follow(request);
    await grow(1);
    expect(await take(followed.changes, 1)).toEqual([request.after + 1]);
  });
});

describe('what runs for followers', () => {
  it('is one listener for all, ends when 200 leave at once, and begins again with the next one', async () => {
    await using feed = openFeed();
    const request = await following();
    const all = await Promise.all(upFrom(0, 200).map(() => feed.follow(request)));
    await eventually(listeners, (count) => count === 1);
    const waiting = all.map(({ changes }) => changes.next());
    await Promise.all(all.map(async ({ changes }) => changes.return?.()));
    expect((await Promise.all(waiting)).every(({ done }) => done)).toBe(true);
    expect(feed.callers).toHaveLength(0);
    await eventually(listeners, (count) => count === 0);
    await grow(1);
    const again = await feed.follow(request);
    expect(await take(again.changes, 1)).toEqual([request.after + 1]);
    await grow(1);
    expect(await take(again.changes, 1)).toEqual([request.after + 2]);
  });

  it('is there for one who comes while the last one leaves', async () => {
    await using feed = openFeed();
    for (let round = 0; round < 8; round += 1) {
      const request = await following();
      const first = await feed.follow(request);
      const leaving = first.changes.return?.();
      const next = await feed.follow(request);
      await grow(1);
      expect(await take(next.changes, 1)).toEqual([request.after + 1]);
      await leaving;
      await next.changes.return?.();
    }
  });

  it('ends with everybody when the feed is closed', async () => {
    const feed = openFeed();
    const followed = await feed.follow(await following());
    const next = followed.changes.next();
    await feed[Symbol.asyncDispose]();
    expect((await next).done).toBe(true);
    await eventually(listeners, (count) => count === 0);
  });
});
