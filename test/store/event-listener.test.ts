import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EventListener } from '../../src/store/event-listener.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { PostgresProxy } from '../support/postgres-proxy.ts';
import { eventually } from '../support/processes.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database[Symbol.asyncDispose]());

/** Counts hints; each step waits for the next one. */
function countHints() {
  let count = 0;
  return {
    hint: () => void (count += 1),
    get count() {
      return count;
    },
    /** Resolves when more have come than at the time of the call. */
    async more(): Promise<void> {
      const before = count;
      await eventually(
        async () => count,
        (now) => now > before,
      );
    },
  };
}

/** The log grows as far as a listener can tell. */
const notify = () => database.asSuperuser((client) => client.query(`notify agent_knowledge_event`));

const backends = () =>
  database.asSuperuser(async (client) => {
    const { rows } = await client.query<{ pid: number }>(
      `select pid from pg_stat_activity where application_name = 'agent-knowledge listener' and datname = current_database()`,
    );
    return rows.map(({ pid }) => pid);
  });

const gone = () => eventually(backends, (pids) => pids.length === 0);

describe('a listener', () => {
  it('hints when it has begun to listen and each time the log grows, and leaves no connection behind', async () => {
    const hints = countHints();
    const listener = EventListener.open(database.applicationUrl, hints.hint);
    await hints.more();
    const more = hints.more();
    await notify();
    await more;
    await listener[Symbol.asyncDispose]();
    await gone();
    const { count } = hints;
    await notify();
    await sleep(100);
    expect(hints.count).toBe(count);
  });

  it('connects again as often as its connection is terminated, and hints each time, since it may have missed something', async () => {
    const hints = countHints();
    await using _listener = EventListener.open(database.applicationUrl, hints.hint);
    await hints.more();
    for (let round = 0; round < 5; round += 1) {
      const more = hints.more();
      const [pid] = await eventually(backends, (pids) => pids.length === 1);
      await database.asSuperuser((client) => client.query('select pg_terminate_backend($1)', [pid]));
      await more;
    }
    const more = hints.more();
    await notify();
    await more;
    expect(await backends()).toHaveLength(1);
  });

  it('finds out that its connection is half open, and takes another', async () => {
    await using proxy = await PostgresProxy.open(database.applicationUrl);
    const hints = countHints();
    await using _listener = EventListener.open(proxy.url, hints.hint, { heartbeatMs: 50, answerMs: 500 });
    await hints.more();
    const attempts = proxy.attempts;
    proxy.deafen(() => true);
    const { count } = hints;
    await notify();
    await eventually(
      async () => proxy.attempts,
      (now) => now > attempts,
    );
    expect(hints.count).toBe(count); // Deaf indeed, the new one as well.
    const more = hints.more();
    proxy.heal();
    await more;
  });

  it('keeps a quiet connection for as long as it answers', async () => {
    const hints = countHints();
    await using _listener = EventListener.open(database.applicationUrl, hints.hint, {
      heartbeatMs: 20,
      answerMs: 20_000,
    });
    await hints.more();
    const before = await backends();
    await sleep(500);
    expect(await backends()).toEqual(before);
    expect(hints.count).toBe(1);
  });
});

describe('a server that is away', () => {
  it('is asked again and again, never sooner than after the least pause, and heard when it is back', async () => {
    await using proxy = await PostgresProxy.open(database.applicationUrl);
    proxy.refuse();
    const hints = countHints();
    await using _listener = EventListener.open(proxy.url, hints.hint, {
      leastPauseMs: 100,
      mostPauseMs: 400,
    });
    const began = performance.now();
    const attempts = await eventually(
      async () => proxy.attempts,
      (count) => count >= 5,
    );
    expect(attempts - 1).toBeLessThanOrEqual((performance.now() - began) / 100 + 1);
    const more = hints.more();
    proxy.heal();
    await more;
  });
});

describe('a listener that is closed', () => {
  it('does not wait for a server that takes its connection and says nothing, and lets go of it', async () => {
    const sockets = new Set<Socket>();
    const mute = createServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
      socket.resume();
    }).listen(0, '127.0.0.1');
    await once(mute, 'listening');
    const url = `postgres://nobody:nothing@127.0.0.1:${(mute.address() as AddressInfo).port}/none`;
    const times = { answerMs: 3_600_000, heartbeatMs: 3_600_000 };
    const listener = EventListener.open(url, () => undefined, times);
    await eventually(
      async () => sockets.size,
      (size) => size === 1,
    );
    await listener[Symbol.asyncDispose]();
    await eventually(
      async () => sockets.size,
      (size) => size === 0,
    );
    mute.close();
  });

  it('leaves no connection at whatever moment of its connecting', async () => {
    for (let round = 0; round < 20; round += 1) {
      const listener = EventListener.open(database.applicationUrl, () => undefined);
      await sleep(round * 2);
      await listener[Symbol.asyncDispose]();
    }
    await gone();
  });

  it('does not sleep through the pause before its next attempt', async () => {
    await using proxy = await PostgresProxy.open(database.applicationUrl);
    proxy.refuse();
    const times = { leastPauseMs: 3_600_000, mostPauseMs: 3_600_000 };
    const listener = EventListener.open(proxy.url, () => undefined, times);
    await eventually(
      async () => proxy.attempts,
      (attempts) => attempts === 1,
    );
    await sleep(100);
    await listener[Symbol.asyncDispose]();
  });
});
