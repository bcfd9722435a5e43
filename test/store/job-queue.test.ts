import { expect, test } from 'vitest';
import { JobQueue } from '../../src/store/job-queue.ts';
import { createTestDatabase } from '../support/database.ts';
import { eventually } from '../support/processes.ts';

test('goes on taking jobs after its connections were cut while a job was ending (F20)', async () => {
  await using database = await createTestDatabase();
  const taken: string[] = [];
  const cut = () =>
    database.asSuperuser((client) =>
      client.query(
        'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and pid <> pg_backend_pid()',
        [database.name],
      ),
    );
  await using queue = await JobQueue.open(database.applicationUrl);
  const name = (agentKey: string) => ({ agentKey, environment: 'dev' });
  const handlers = {
    refresh: async ({ agentKey }: { agentKey: string }) => {
      taken.push(agentKey);
      // The queue is about to write that the job is done, over a connection that has just been ended.
      if (agentKey.startsWith('cut')) await cut();
    },
    resync: async () => undefined,
    poll: async () => undefined,
  };
  await queue.work(handlers, 1);
  for (let round = 0; round < 3; round += 1) {
    const wanted = `cut_${round}`;
    await eventually(
      () => database.queue.requestRefresh(name(wanted)).then(() => taken),
      (names) => names.includes(wanted),
    );
  }
  await eventually(
    () => database.queue.requestRefresh(name('after')).then(() => taken),
    (names) => names.includes('after'),
  );
  expect(taken).toContain('after');
}, 60_000);
