/** Live test 6 of the watching notes: whatever happens to the root, nothing is taken for deleted files (F50). */
import { execFile } from 'node:child_process';
import { cp, mkdir, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { LookerPool } from '../../daemon/looker-pool.ts';
import { RegistryKeeper } from '../../daemon/registry-keeper.ts';
import { settleTimes } from '../../src/core/settle-window.ts';
import { makeLooker } from '../../src/operations/looker.ts';
import { requestRefresh } from '../../src/operations/request-refresh.ts';
import { openLocalSource } from '../../src/source/local-source.ts';
import { readRegistryFile, statPrint } from '../../src/source/registry-file.ts';
import { listLiveDaemons } from '../../src/store/daemons.ts';
import { readSourceStatus } from '../../src/store/source-status.ts';
import { hurriedClock } from '../support/fake-clock.ts';
import { eventually } from '../support/processes.ts';
import { canMount } from '../support/volumes.ts';
import { WatchedRoot } from '../support/watched-root.ts';

const clock = hurriedClock(12);
const run = promisify(execFile);
const agents = ['alpha', 'beta', 'gamma'];
const files = (agent: string) => ['core.md', `${agent}/a.md`, `${agent}/b.md`];
const isLong = process.env['AGENT_KNOWLEDGE_TEST_LONG'] === '1';
const mounting = isLong && (await canMount());

let stack: AsyncDisposableStack;
let scene: WatchedRoot;
/** The root as it was, kept beside it while it is lost. */
let kept: string;

beforeEach(async () => {
  stack = new AsyncDisposableStack();
  scene = stack.use(await WatchedRoot.open(Object.fromEntries(agents.map((agent) => [agent, files(agent)]))));
  kept = join(scene.folder, 'kept');
});
afterEach(() => stack.disposeAsync());

const source = () => scene.events('agent.source_lost', 'agent.source_returned');
const failures = () => scene.events('agent.knowledge_failed', 'agent.knowledge_validation_failed');
const actives = async () =>
  Promise.all(agents.map(async (agent) => (await scene.package(agent)).activeNumber));

async function statuses(): Promise<{ state: string; reason: string | null; stale: boolean }[]> {
  const names = agents.map((agentKey) => ({ agentKey, environment: 'production' }));
  const rows = await scene.database.database.read((queries) => readSourceStatus(queries, names, 3_600_000));
  // Real events that come late to a hurried daemon may count as none: that is about the watcher, not about the root.
  const ofRoot = (state: string) => (state === 'degraded' ? 'ok' : state);
  return rows.map(({ state, reason, stale }) => ({ state: ofRoot(state), reason, stale }));
}

/** How the daemons say with their heartbeat that their root is. */
const rootStates = async () =>
  (await scene.database.database.read(listLiveDaemons)).map((daemon) => daemon.condition.root);

const isMissing = { state: 'missing', reason: 'root_missing', stale: true };
const isWell = { state: 'ok', reason: null, stale: false };
const untilAll = (wanted: object) =>
  eventually(
    statuses,
    (found) => found.every((status) => JSON.stringify(status) === JSON.stringify(wanted)),
    30_000,
  );

/** What happens to the root, and how it comes back. */
interface Trouble {
  readonly happens: () => Promise<unknown>;
  readonly ends: () => Promise<unknown>;
}

const troubles: Record<string, Trouble> = {
  removed: {
    happens: async () => {
      await cp(scene.root, kept, { recursive: true });
      await rm(scene.root, { recursive: true });
    },
    ends: () => rename(kept, scene.root),
  },
  renamed: {
    happens: () => rename(scene.root, kept),
    ends: () => rename(kept, scene.root),
  },
  emptied: {
    happens: async () => {
      await cp(scene.root, kept, { recursive: true });
      for (const name of ['core.md', ...agents]) await rm(join(scene.root, name), { recursive: true });
    },
    ends: async () => {
      await cp(kept, scene.root, { recursive: true });
      await rm(kept, { recursive: true });
    },
  },
  'replaced by a file': {
    happens: async () => {
      await rename(scene.root, kept);
      await writeFile(scene.root, 'no folder');
    },
    ends: async () => {
      await unlink(scene.root);
      await rename(kept, scene.root);
    },
  },
  'replaced by a link to an empty folder': {
    happens: async () => {
      await rename(scene.root, kept);
      await mkdir(join(scene.folder, 'nothing'), { recursive: true });
      await symlink(join(scene.folder, 'nothing'), scene.root);
    },
    ends: async () => {
      await unlink(scene.root);
      await rename(kept, scene.root);
    },
  },
  'robbed of most of its files': {
    happens: async () => {
      await writeFile(join(scene.root, 'desktop.ini'), 'the sync client leaves this');
      for (const agent of agents) await rename(join(scene.root, agent), join(scene.folder, agent));
    },
    ends: async () => {
      for (const agent of agents) await rename(join(scene.folder, agent), join(scene.root, agent));
    },
  },
};

/** In the short form one of each kind: no folder, no content, few files. */
const inShort = ['renamed', 'emptied', 'robbed of most of its files'];
const chosen = Object.entries(troubles).filter(([name]) => isLong || inShort.includes(name));

describe('a root', () => {
  test('that is removed, renamed, emptied, replaced or robbed is one alarm each, no failure of any package, and comes back by itself', async () => {
    await scene.startDaemon({ clock });
    const before = await actives();
    expect(before).toEqual([1, 1, 1]);
    let round = 0;
    for (const [name, trouble] of chosen) {
      round += 1;
      await trouble.happens();
      await untilAll(isMissing);
      await eventually(rootStates, (found) => found.join() === 'missing');
      expect([name, await actives()]).toEqual([name, agents.map(() => round)]);
      const asked = await requestRefresh(scene.database.context(), { agentKey: 'alpha' });
      expect(asked).toMatchObject({ state: 'DONE', outcome: 'FAILED', reason: 'root_missing' });
      await trouble.ends();
      await untilAll(isWell);
      // The watcher and the sweep see the folder that is there now.
      await scene.save('core.md', `after ${name}\n`);
      await eventually(actives, (found) => found.every((number) => number === round + 1));
    }
    expect((await source()).map((event) => event.action)).toEqual(
      chosen.flatMap(() => ['agent.source_lost', 'agent.source_returned']),
    );
    const told = [scene.errors, scene.lines].map(
      (texts) => texts.filter((text) => text.startsWith('the knowledge folder is lost')).length,
    );
    expect(told).toEqual([round, round]);
    // Nobody failed but those who asked.
    expect((await failures()).map((event) => event.details['reason'])).toEqual(
      chosen.map(() => 'root_missing'),
    );
  }, 120_000);

  test('whose place is taken by another good folder goes on there, with one line in the audit log', async () => {
    await cp(scene.root, kept, { recursive: true });
    await scene.startDaemon({ clock });
    await writeFile(join(kept, 'core.md'), '# Core of the other folder\n');
    await rename(scene.root, join(scene.folder, 'old'));
    await rename(kept, scene.root);
    await eventually(actives, (found) => found.every((number) => number === 2));
    await untilAll(isWell);
    const events = await eventually(source, (found) => found.length > 0);
    expect(events).toMatchObject([
      { action: 'agent.source_returned', details: { identityChanged: true, host: 'test' } },
    ]);
    expect(await failures()).toEqual([]);
    // A link that comes to lead elsewhere is the same to those who read.
    await rename(scene.root, join(scene.folder, 'new'));
    await writeFile(join(scene.folder, 'old/core.md'), '# Core behind a link\n');
    await symlink(join(scene.folder, 'old'), scene.root);
    await eventually(actives, (found) => found.every((number) => number === 3));
    await eventually(source, (found) => found.length === 2);
    expect([(await failures()).length, scene.lines]).toEqual([0, []]);
  }, 60_000);

  if (mounting)
    test('that is a mount which goes and comes is lost and returned', async () => {
      await cp(scene.root, kept, { recursive: true });
      const umount = () => run('umount', ['--lazy', scene.root]);
      for (const name of ['core.md', ...agents]) await rm(join(scene.root, name), { recursive: true });
      await run('mount', ['--bind', kept, scene.root]);
      stack.defer(async () => void (await umount().catch(() => undefined))); // Where the test got as far as its end, it is gone.
      await scene.startDaemon({ clock });
      await umount();
      await untilAll(isMissing);
      await run('mount', ['--bind', kept, scene.root]);
      await untilAll(isWell);
      await run('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'agent-knowledge-test', scene.root]);
      await untilAll(isMissing);
      await umount();
      await untilAll(isWell);
      await umount();
      expect((await source()).map((event) => event.action)).toEqual([
        'agent.source_lost',
        'agent.source_returned',
        'agent.source_lost',
        'agent.source_returned',
      ]);
      expect(await failures()).toEqual([]);
    }, 60_000);

  test('that is missing does not stop a start, is no second alarm after a restart, and is told when it is well again', async () => {
    const first = await scene.startDaemon({ clock });
    await rename(scene.root, kept);
    await untilAll(isMissing);
    await first[Symbol.asyncDispose]();
    const second = await scene.startDaemon({ clock });
    expect(scene.lines).toHaveLength(1);
    expect((await source()).map((event) => event.action)).toEqual(['agent.source_lost']);
    await second[Symbol.asyncDispose]();
    await rename(kept, scene.root);
    const third = await scene.startDaemon({ clock });
    await untilAll(isWell);
    const returned = ['agent.source_lost', 'agent.source_returned'];
    expect((await source()).map((event) => event.action)).toEqual(returned);
    await third[Symbol.asyncDispose]();
    await rename(scene.root, kept);
    await scene.startDaemon({ clock });
    // Lost while nobody looked: that is news.
    expect((await source()).map((event) => event.action)).toEqual([...returned, 'agent.source_lost']);
    expect(scene.lines.filter((line) => line.startsWith('the knowledge folder is lost'))).toHaveLength(2);
    await rename(kept, scene.root);
    await untilAll(isWell);
    expect(await actives()).toEqual([1, 1, 1]);
    expect(await failures()).toEqual([]);
  }, 60_000);

  test('of which an author deletes a few files is not lost: their package fails by name', async () => {
    await scene.startDaemon({ clock });
    await unlink(join(scene.root, 'beta/a.md'));
    const failed = await eventually(failures, (found) => found.length > 0);
    expect(failed).toMatchObject([{ agentKey: 'beta', details: { reason: 'missing_required' } }]);
    expect(await source()).toEqual([]);
  }, 60_000);
});

test('CONTROL: looks that nobody guards take an emptied root for deleted files', async () => {
  const context = scene.database.context();
  const looker = await makeLooker(context, { id: 'control', kind: 'daemon', name: 'control' });
  await using reader = openLocalSource({ root: scene.root });
  const registryPath = join(scene.folder, 'registry.json');
  const registry = new RegistryKeeper({
    context,
    clock,
    watchEnvironments: ['production'],
    looker,
    read: () => readRegistryFile(registryPath),
    print: () => statPrint(registryPath),
    announce: async () => undefined,
  });
  await registry.look();
  const nobody = () => undefined;
  const pool = new LookerPool({
    context,
    clock,
    looker,
    registry,
    source: reader,
    logger: { debug: nobody, info: nobody, warn: nobody, error: nobody },
    watchEnvironments: ['production'],
    settleTimes: () => settleTimes.fast,
    onLook: nobody,
  });
  const lookAtAll = async () => {
    for (const name of pool.watchedPackages()) pool.hint(name, 'sweep');
    await pool.idle();
  };
  await lookAtAll();
  expect(await actives()).toEqual([1, 1, 1]);
  await troubles['robbed of most of its files']?.happens();
  await lookAtAll();
  const reasons = (await failures()).map((event) => event.details['reason']);
  expect(reasons).toEqual(['missing_required', 'missing_required', 'missing_required']);
  expect((await statuses()).map(({ state }) => state)).toEqual(['failed', 'failed', 'failed']);
});
