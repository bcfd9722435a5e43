import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { holdPackage } from '../../src/operations/hold-package.ts';
import { Database, type Queries } from '../../src/store/database.ts';
import { lockPackage } from '../../src/store/packages.ts';
import { openSession } from '../support/attempts.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { openLooks, type TestLooks } from '../support/looks.ts';

/* F17, F20, F25, F26: a database that cannot serve now is said to be so, soon, in words that are true. */

let database: TestDatabase;
let looks: TestLooks;
beforeAll(async () => {
  database = await createTestDatabase();
  looks = await openLooks(database);
});
afterAll(() => database[Symbol.asyncDispose]());

const processOf = async (queries: Queries) =>
  (await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(queries)).rows[0]!.pid;

const terminate = (pid: number) =>
  database.asSuperuser((client) => client.query('select pg_terminate_backend($1)', [pid]));

describe('a database that cannot serve now', () => {
  it.concurrent('lets nobody wait for a locked package, and serves the others meanwhile (F26)', async () => {
    const [locked, other] = [looks.agent(), looks.agent()];
    const session = await openSession(database.superuserUrl);
    await session.query('begin');
    await session.query('select from package where agent_key = $1 for update', [locked.name.agentKey]);
    const began = Date.now();
    const waits = expect(
      holdPackage(database.context(), { ...locked.name, reason: 'Wait.' }),
    ).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: 'Another change of this package is under way; nothing was changed. Ask again.',
      details: { retryAfterMs: 1000 },
    });
    await other.refresh('one');
    expect(Date.now() - began).toBeLessThan(2500);
    await waits;
    await session.end();
    await holdPackage(database.context(), { ...locked.name, reason: 'Wait.' });
  });

  it.concurrent('says the same where the statement’s time is up before the lock’s (F26)', async () => {
    const { name } = looks.agent();
    const session = await openSession(database.superuserUrl);
    await session.query('begin');
    await session.query('select from package where agent_key = $1 for update', [name.agentKey]);
    const locking = database.database.transaction(async (queries) => {
      await sql`set local statement_timeout = '300ms'`.execute(queries);
      await lockPackage(queries, name.agentKey, name.environment);
    });
    await expect(locking).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: 'Another change of this package is under way; nothing was changed. Ask again.',
    });
    await session.end();
  });

  it.concurrent('keeps connections for readers while many wait for one locked package (F26, T40)', async () => {
    const locked = looks.agent();
    const session = await openSession(database.superuserUrl);
    await session.query('begin');
    await session.query('select from package where agent_key = $1 for update', [locked.name.agentKey]);
    const context = database.context();
    const waiting = Array.from({ length: 15 }, () =>
      holdPackage(context, { ...locked.name, reason: 'Wait.' }).catch(
        (error: { code: string }) => error.code,
      ),
    );
    const began = Date.now();
    for (let read = 0; read < 20; read += 1) await database.database.read(processOf);
    expect(Date.now() - began).toBeLessThan(1500);
    expect(new Set(await Promise.all(waiting))).toEqual(new Set(['UNAVAILABLE']));
    await session.end();
  });

  it.concurrent('lets nobody wait for a connection longer than two seconds, and recovers at once (F25)', async () => {
    await using narrow = await Database.open({ url: database.applicationUrl, maxConnections: 1 });
    const { promise: enough, resolve } = Promise.withResolvers<void>();
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    const busy = narrow.transaction(async (queries) => {
      await processOf(queries);
      begin();
      await enough;
    });
    await begun;
    await expect(narrow.read((queries) => sql`select 1`.execute(queries))).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringMatching(/^The database cannot answer now\. Ask again/) as string,
    });
    resolve();
    await busy;
    await narrow.read((queries) => sql`select 1`.execute(queries));
  });

  it.concurrent('does not say that nothing was changed when a transaction’s connection is lost (F17, G8)', async () => {
    await using single = await Database.open({ url: database.applicationUrl, maxConnections: 1 });
    const cut = single.transaction(async (queries) => {
      await terminate(await processOf(queries));
      await sql`select 1`.execute(queries);
    });
    await expect(cut).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringMatching(/whether a change was made is not known.*idempotency key/) as string,
    });
    // The pool of one has its place back: nothing leaks, however often it happens.
    await single.read((queries) => sql`select 1`.execute(queries));
  });

  it.concurrent('replaces connections that were ended while they were idle (F20)', async () => {
    await using idle = await Database.open({ url: database.applicationUrl, maxConnections: 3 });
    const pids = await Promise.all([1, 2, 3].map(() => idle.read(processOf)));
    for (const pid of new Set(pids)) await terminate(pid);
    await new Promise((resolve) => setTimeout(resolve, 100));
    const after = await idle.read(processOf);
    expect(pids).not.toContain(after);
  });
});

it('an error of ours is not taken for weather', async () => {
  const wrong = database.database.read((queries) => sql`select 1 / 0`.execute(queries));
  await expect(wrong).rejects.toMatchObject({ code: '22012' });
});
