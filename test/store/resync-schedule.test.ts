import { afterEach, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

let database: TestDatabase;

beforeEach(async () => {
  database = await createTestDatabase();
});
afterEach(() => database[Symbol.asyncDispose]());

/** Seconds until the one full look that is scheduled. */
async function dueIn(): Promise<number> {
  const { rows } = await database.asSuperuser((client) =>
    client.query<{ seconds: string }>(
      `select extract(epoch from run_at - clock_timestamp()) as seconds
         from graphile_worker._private_jobs where key = 'resync'`,
    ),
  );
  expect(rows).toHaveLength(1);
  return Number(rows[0]?.seconds);
}

const isNear = async (seconds: number) => {
  const due = await dueIn();
  expect(due).toBeGreaterThan(seconds - 30);
  expect(due).toBeLessThanOrEqual(seconds);
};

test('the next full look is the earliest that a daemon wishes for, by the clock of the database (F37)', async () => {
  await database.queue.scheduleResync(3600);
  await isNear(3600);
  await database.queue.scheduleResync(7200);
  await isNear(3600);
  await database.queue.scheduleResync(600);
  await isNear(600);
});

test('a look that waits for the time before the clock was set back is brought forward', async () => {
  await database.queue.scheduleResync(600);
  await database.asSuperuser((client) =>
    client.query(
      `update graphile_worker._private_jobs set run_at = run_at + interval '1 day' where key = 'resync'`,
    ),
  );
  await database.queue.scheduleResync(600);
  await isNear(600);
});
