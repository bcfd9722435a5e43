import { describe, expect, test } from 'vitest';
import { Deployment } from '../../support/deployment.ts';
import { createAsk } from '../../support/graphql.ts';
import { canLimitInotify, changeLimit, underLimit } from '../../support/inotify-limits.ts';
import { eventually, runCommand } from '../../support/processes.ts';

// Real limits of the kernel on a real daemon process (watching.md, live test 8; F57, W12, W13).
if (canLimitInotify())
  describe.concurrent('a daemon whose system gives no more', () => {
    const cases = [
      ['watches', 'max_inotify_watches', 3, 'fs.inotify.max_user_watches'],
      ['inotify instances', 'max_inotify_instances', 0, 'fs.inotify.max_user_instances'],
    ] as const;
    test.each(process.env['AGENT_KNOWLEDGE_TEST_LONG'] === '1' ? cases : cases.slice(0, 1))(
      '%s works all the same, says what to raise, and is well again when it has been raised',
      async (_, limit, value, said) => {
        await using deployment = await Deployment.open(['a', 'b', 'c', 'd']);
        await using daemon = runCommand(['daemon'], {
          env: deployment.env,
          through: underLimit(limit, value),
        });
        const ask = createAsk(() => deployment.database.context());
        const packages = async () => {
          const answer = await ask(
            '{ packages { active { knowledgeVersion } sourceStatus { state message } } }',
          );
          return answer.data.packages as {
            active: { knowledgeVersion: string };
            sourceStatus: { state: string; message: string | null };
          }[];
        };
        const statuses = async () => (await packages()).map((found) => found.sourceStatus);
        const all = (state: string) => (found: { state: string }[]) =>
          found.length === 4 && found.every((status) => status.state === state);
        const degraded = await eventually(statuses, all('degraded'), 60_000);
        for (const status of degraded) expect(status.message).toContain(said);

        // Saves are found by the sweep, in every folder.
        for (const agent of ['a', 'b', 'c', 'd']) await deployment.save(agent, 'found');
        await eventually(
          packages,
          (found) => found.every(({ active }) => active.knowledgeVersion === 'v2'),
          60_000,
        );

        // Control: it was the limit, and nothing else.
        changeLimit(daemon.process.pid ?? 0, limit, 1000);
        const well = await eventually(statuses, all('ok'), 90_000);
        expect(well.map((status) => status.message)).toEqual([null, null, null, null]);
        const told = daemon
          .stderr()
          .split('\n')
          .filter((line) => line.includes('the watcher'));
        expect(told.map((line) => JSON.parse(line).message)).toEqual([
          'the watcher fails; changes are found by the sweep',
          'the watcher works again',
        ]);
        expect(await daemon.end()).toBe(0);
      },
      240_000,
    );
  });
