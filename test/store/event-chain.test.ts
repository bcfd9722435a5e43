import * as fc from 'fast-check';
import type { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { eventHash, type EventAction, type HashedEvent, type NewEvent } from '../../src/core/events.ts';
import { appendEvent, listEvents, type StoredEvent } from '../../src/store/knowledge-events.ts';
import { roles } from '../../src/store/roles.ts';
import { openSession } from '../support/attempts.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

/* The audit log: numbered without a gap, chained by hashes that anybody can recompute, read in order (G13, G14). */

const long = process.env['AGENT_KNOWLEDGE_TEST_LONG'] === '1';
if (long) vi.setConfig({ testTimeout: 600_000 });

let database: TestDatabase;
let actorId: number;
beforeAll(async () => {
  database = await createTestDatabase();
  actorId = database.context().caller.actorId;
});
afterAll(() => database[Symbol.asyncDispose]());

const everything = { agents: null, environments: null, general: true };

async function readLog(): Promise<StoredEvent[]> {
  const events = await database.database.read((queries) =>
    listEvents(queries, everything, { limit: 100_000, before: null }),
  );
  return events.toReversed();
}

function append(event: Partial<NewEvent>): Promise<void> {
  return database.database.transaction((queries) =>
    appendEvent(queries, { actorId, action: 'key.created', details: {}, ...event }),
  );
}

/** Appends in a transaction that may end in an error; answers whether it was kept. */
async function appendOrNot(event: Partial<NewEvent>, fails: boolean): Promise<boolean> {
  class ChangedMind extends Error {}
  try {
    await database.database.transaction(async (queries) => {
      await appendEvent(queries, { actorId, action: 'key.created', details: {}, ...event });
      if (fails) throw new ChangedMind();
    });
    return true;
  } catch (error) {
    if (error instanceof ChangedMind) return false;
    throw error;
  }
}

/** Reads what is above the last number it has read, until the writers are done and nothing is left. */
async function follow(after: number, finished: Promise<unknown>): Promise<number[]> {
  const seen: number[] = [];
  let writing = true;
  void finished.finally(() => (writing = false));
  const reader = await openSession(database.applicationUrl, { role: roles.app });
  for (let more = true; more;) {
    const last = writing;
    const { rows } = await reader.query<{ sequence: number }>(
      'select sequence::integer from knowledge_event where sequence > $1 order by sequence',
      [seen.at(-1) ?? after],
    );
    seen.push(...rows.map((row) => row.sequence));
    more = last || rows.length > 0;
  }
  await reader.end();
  return seen;
}

const hashed = (event: StoredEvent): HashedEvent => ({
  ...event,
  timeMicros: String(event.atMicros),
  actorId: event.actorRef,
});

const spelt = (event: HashedEvent) => JSON.stringify(Object.values(event));

/** Every event recomputed and chained to the one before it. */
function expectWhole(log: readonly StoredEvent[]): void {
  let previous = { sequence: 0, hash: '0'.repeat(64) };
  for (const event of log) {
    expect({ ...event, hash: eventHash(hashed(event)) }).toEqual({
      ...event,
      sequence: previous.sequence + 1,
      previousHash: previous.hash,
    });
    previous = event;
  }
}

describe('the hash of an event', () => {
  it('is recomputed without the database, whatever the fields hold', async () => {
    const texts = [
      '',
      'plain',
      'Ærøskøbing',
      'قواعد',
      '日本語',
      '🙂👩‍👩‍👧',
      'e\u0301',
      '\u202e',
      '"\\\n\t',
      '\uffff',
      'x'.repeat(100_000),
    ];
    for (const text of texts) {
      await append({
        subject: text,
        details: { text, empty: '', none: null, list: [text, 1, 0.1, 1e21, -0] },
      });
    }
    await append({ agentKey: 'agent_a', environment: 'dev', details: { deep: { er: { a: [[], {}] } } } });
    await append({ subject: 'no package', details: {} });
    expectWhole(await readLog());
  });

  it('changes with every field', async () => {
    const event = hashed((await readLog()).at(-1)!);
    const changes: Partial<HashedEvent>[] = [
      { epoch: 2 },
      { sequence: event.sequence + 1 },
      { previousHash: 'f'.repeat(64) },
      { timeMicros: `${event.timeMicros}0` },
      { actorId: 'key:1' },
      { action: 'key.revoked' },
      { agentKey: '' },
      { environment: '' },
      { subject: null },
      { details: '{ }' },
    ];
    const hashes = changes.map((change) => eventHash({ ...event, ...change }));
    expect(new Set([eventHash(event), ...hashes]).size).toBe(changes.length + 1);
  });

  it('is never shared by two events: where one field ends and the next begins is part of it', () => {
    // Short fields of few letters, so that their concatenations collide all the time.
    const text = fc.string({ unit: fc.constantFrom('a', '1', '\0', '\uffff', 'ÿ'), maxLength: 3 });
    const absent = fc.option(text, { nil: null });
    const fields = fc.record<HashedEvent>({
      epoch: fc.integer({ min: 1, max: 11 }),
      sequence: fc.integer({ min: 1, max: 11 }),
      previousHash: text,
      timeMicros: text,
      actorId: text,
      action: text,
      agentKey: absent,
      environment: absent,
      subject: absent,
      details: text,
    });
    fc.assert(
      fc.property(fields, fields, (a, b) => {
        expect(eventHash(a) === eventHash(b)).toBe(spelt(a) === spelt(b));
      }),
      { numRuns: long ? 100_000 : 5000 },
    );
    const shifted = { ...sample, action: 'ab', agentKey: 'c' };
    expect(eventHash(shifted)).not.toBe(eventHash({ ...shifted, action: 'a', agentKey: 'bc' }));
    // The control: joined without lengths, the two are one text.
    expect(Object.values(shifted).join('')).toBe(
      Object.values({ ...shifted, action: 'a', agentKey: 'bc' }).join(''),
    );
  });
});

const sample: HashedEvent = {
  epoch: 1,
  sequence: 1,
  previousHash: '',
  timeMicros: '0',
  actorId: 'key:1',
  action: 'key.created',
  agentKey: null,
  environment: null,
  subject: null,
  details: '{}',
};

describe('the log under 32 writers at once', () => {
  it('has no gap where some of them fail, and a reader who follows its numbers misses none', async () => {
    const first = (await readLog()).length;
    const rounds = long ? 100 : 8;
    const writers = Array.from({ length: 32 }, async (_, writer) => {
      let written = 0;
      for (let round = 0; round < rounds; round += 1) {
        // Every fourth changes its mind after its event has had its number.
        const fails = (writer + round) % 4 === 0;
        const done = await appendOrNot({ subject: `${writer}/${round}` }, fails);
        written += done ? 1 : 0;
      }
      return written;
    });
    const finished = Promise.all(writers);
    const seen = await follow(first, finished);
    const written = (await finished).reduce((sum, count) => sum + count, 0);
    const log = await readLog();
    expect(written).toBe(32 * rounds * 0.75);
    expect(log.length).toBe(first + written);
    expect(seen).toEqual(log.slice(first).map((event) => event.sequence));
    expectWhole(log);
  });
});

function insertEvent(action: EventAction): string {
  return `insert into knowledge_event (actor_id, action, details) values (${actorId}, '${action}', '{}')`;
}

describe('a reader between two writers', () => {
  let early: Client;
  let late: Client;
  let reader: Client;
  beforeAll(async () => {
    [early, late, reader] = (await Promise.all(
      [1, 2, 3].map(() => openSession(database.superuserUrl, { lock_timeout: '300ms' })),
    )) as [Client, Client, Client];
    await early.query(
      'create table scratch_feed (id bigint generated always as identity primary key, writer text)',
    );
  });
  afterAll(() => Promise.all([early, late, reader].map((session) => session.end())));

  async function readFeed(after: number) {
    const feed = 'select id::integer, writer from scratch_feed where id > $1';
    return (await reader.query<{ id: number; writer: string }>(feed, [after])).rows;
  }

  it('loses a row of a feed that is numbered before it is visible: the control', async () => {
    await early.query('begin');
    await early.query(`insert into scratch_feed (writer) values ('early')`);
    await late.query(`insert into scratch_feed (writer) values ('late')`);
    const [only] = await readFeed(0);
    expect(only).toEqual({ id: 2, writer: 'late' });
    await early.query('commit');
    expect(await readFeed(only!.id)).toEqual([]); // `early` has number 1, below the cursor: never seen.
  });

  it('loses none of the log: the second writer waits until the first is visible', async () => {
    await early.query('begin');
    await early.query(insertEvent('key.created'));
    await expect(late.query(insertEvent('key.revoked'))).rejects.toMatchObject({ code: '55P03' });
    await early.query('commit');
    await late.query(insertEvent('key.revoked'));
    expectWhole(await readLog());
  });
});
