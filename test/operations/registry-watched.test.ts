import { afterEach, beforeEach, expect, test } from 'vitest';
import { acceptRegistry } from '../../src/operations/accept-registry.ts';
import { beatDaemon, leaveDaemon } from '../../src/operations/looker.ts';
import { queueNotices } from '../../src/operations/queue-notices.ts';
import { readStatuses } from '../../src/operations/read-knowledge.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { heartbeatOf } from '../support/fake-daemon.ts';
import { lookAt } from '../support/knowledge.ts';
import { storedNotices } from '../support/notices.ts';

let database: TestDatabase;
beforeEach(async () => {
  database = await createTestDatabase();
});
afterEach(() => database[Symbol.asyncDispose]());

/** A registry of one agent. */
function registryOf(agentKey: string, enabled = true): Uint8Array {
  const files = [{ relative_path: 'a.md', load_order: 1, required: true }];
  const agent = { enabled, agent_code: `CODE-${agentKey}`, stage: 'Testing', package_version: 'v01', files };
  return Buffer.from(JSON.stringify({ registry_version: '1.0', agents: { [agentKey]: agent } }));
}

/** A daemon as far as its heartbeat and its registry go. */
function daemonOf(id: string, environment: string) {
  const context = database.context();
  const looker = { id, actorId: context.caller.actorId };
  const watchEnvironments = [environment];
  return {
    beat: () => beatDaemon(context, { ...heartbeatOf(looker), environments: watchEnvironments }),
    accept: (bytes: Uint8Array) => acceptRegistry(context, { bytes, looker, watchEnvironments }),
    leave: () => leaveDaemon(context, looker),
  };
}

const statusesOf = (...environments: string[]) =>
  readStatuses(
    database.context(),
    environments.map((environment) => ({ agentKey: 'a', environment })),
  );
const watched = async () =>
  (await statusesOf('dev', 'production'))
    .filter((status) => status.watched)
    .map(({ environment }) => environment)
    .toSorted();
const failingLook = () =>
  lookAt(database, { agentKey: 'a', watchEnvironments: ['production'], files: { 'a.md': '<script>\n' } });
const countStale = async () => {
  await queueNotices(database.context());
  return (await storedNotices(database)).filter(({ type }) => type === 'knowledge.stale').length;
};

test('two daemons that watch different environments keep both watched, whichever reads the registry, until one is gone', async () => {
  const [one, two] = [daemonOf('one', 'dev'), daemonOf('two', 'production')];
  await one.beat();
  await one.accept(registryOf('a'));
  expect(await watched()).toEqual(['dev']); // Control: alone it watches its own.
  await two.beat();
  await failingLook();
  expect(await countStale()).toBe(1);
  for (const daemon of [two, one, two, one]) {
    await daemon.accept(registryOf('a'));
    expect(await watched()).toEqual(['dev', 'production']);
    expect(await countStale()).toBe(1);
  }
  await two.leave();
  await one.accept(registryOf('a'));
  expect(await watched()).toEqual(['dev']);
});

test.each([
  ['disables', registryOf('a', false)],
  ['lists no longer', registryOf('b')],
])(
  'nothing speaks any more against what a registry %s, nor when it is back, until it is looked at',
  async (_, next) => {
    const daemon = daemonOf('one', 'production');
    await failingLook();
    await daemon.accept(registryOf('a'));
    const [failed] = await statusesOf('production');
    expect(failed).toMatchObject({ state: 'failed', faults: [{ code: 'script_markup' }], stale: true });
    expect(await countStale()).toBe(1);
    await daemon.accept(next);
    const forgotten = {
      state: 'unknown',
      outcome: null,
      reason: null,
      message: null,
      faults: [],
      since: null,
    };
    expect(await statusesOf('production')).toMatchObject([
      { ...forgotten, watched: false, stale: false, lastLookAt: failed?.lastLookAt },
    ]);
    expect(await countStale()).toBe(1);
    await daemon.accept(registryOf('a'));
    expect(await countStale()).toBe(1);
    await failingLook();
    expect(await countStale()).toBe(2);
  },
);
