import { appendFile, mkdir, mkdtemp, readFile, rename, rm, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Daemon } from '../../daemon/daemon.ts';
import { watchFolder } from '../../daemon/watch-folder.ts';
import { systemClock } from '../../daemon/clock.ts';
import type { Logger } from '../../src/core/logger.ts';
import { settleTimes } from '../../src/core/settle-window.ts';
import { makeLooker } from '../../src/operations/looker.ts';
import { activateVersion } from '../../src/operations/activate-version.ts';
import { readAuditLog } from '../../src/operations/read-audit-log.ts';
import { readPackage } from '../../src/operations/read-knowledge.ts';
import { requestRefresh } from '../../src/operations/request-refresh.ts';
import { openLocalSource } from '../../src/source/local-source.ts';
import { registryFileAt, statPrint } from '../../src/source/registry-file.ts';
import { JobQueue } from '../../src/store/job-queue.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { recordingLogger } from '../support/graphql.ts';
import { eventually } from '../support/processes.ts';

const silent = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

interface AgentSpec {
  enabled?: boolean;
  files?: string[];
}

let folder: string;
let database: TestDatabase;
let stack: AsyncDisposableStack;

beforeEach(async () => {
  stack = new AsyncDisposableStack();
  folder = await mkdtemp(join(tmpdir(), 'ak-daemon-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  database = stack.use(await createTestDatabase());
  await mkdir(join(folder, 'knowledge/shared'), { recursive: true });
  await writeFile(file('core'), '# Core\n');
  await writeFile(file('rules'), '# Rules\n');
});
afterEach(() => stack.disposeAsync());

const file = (name: string) => join(folder, 'knowledge/shared', `${name}.md`);
const registryPath = () => join(folder, 'registry.json');

async function writeRegistry(agents: Record<string, AgentSpec>): Promise<void> {
  const entries = Object.entries(agents).map(([key, { enabled = true, files = ['core', 'rules'] }]) => [
    key,
    {
      enabled,
      agent_code: 'AUTO-1',
      stage: 's',
      package_version: 'v01',
      files: files.map((name, index) => ({
        relative_path: `shared/${name}.md`,
        load_order: index,
        required: true,
      })),
    },
  ]);
  const text = JSON.stringify({ registry_version: '1.0', agents: Object.fromEntries(entries) });
  await writeFile(`${registryPath()}.new`, text);
  await rename(`${registryPath()}.new`, registryPath());
}

/** A daemon of its own queue on the real folder and database, settling fast; `change` overrides what a test is about. */
async function startDaemon(
  change: { watcher?: boolean; sweepMs?: number; resyncSeconds?: number; logger?: Logger } = {},
): Promise<Daemon> {
  const queue = stack.use(await JobQueue.open(database.applicationUrl));
  const context = { ...database.context(), queue };
  const source = stack.use(openLocalSource({ root: join(folder, 'knowledge') }));
  const looker = await makeLooker(context, { id: crypto.randomUUID(), kind: 'daemon', name: 'daemon' });
  const daemon = await Daemon.start({
    context,
    looker,
    identity: { host: 'test', processId: process.pid },
    source,
    logger: change.logger ?? silent,
    clock: systemClock,
    watchEnvironments: ['production'],
    settleTimes: () => settleTimes.fast,
    resyncSeconds: change.resyncSeconds ?? 3600,
    registry: registryFileAt(registryPath()),
    watched: watchFolder({
      root: join(folder, 'knowledge'),
      sweepMs: change.sweepMs ?? 3_600_000,
      watchMode: (change.watcher ?? true) ? 'native' : 'sweep',
      statPrint,
    }),
    onLook: () => undefined,
  });
  return stack.use(daemon);
}

const packageOf = (agentKey = 'triage') => readPackage(database.context(), agentKey);
const reaches = (number: number, agentKey = 'triage') =>
  eventually(
    () => packageOf(agentKey),
    (row) => row.activeNumber === number,
    10_000,
  );

describe('the daemon', () => {
  test('loads every enabled agent at its start and no disabled one, which stays readable (G-11)', async () => {
    await writeRegistry({ triage: {}, memo: { enabled: false } });
    await startDaemon();
    expect((await packageOf()).activeNumber).toBe(1);
    expect(await packageOf('memo')).toMatchObject({ activeNumber: null, enabled: false, listed: true });
    const asked = await requestRefresh(database.context(), { agentKey: 'memo' });
    expect(asked).toMatchObject({ state: 'DONE', outcome: 'FAILED', reason: 'agent_disabled' });
  });

  // Each net alone must bring a save in: the others are switched off or set to an hour.
  test.each([
    ['the watcher', { watcher: true }],
    ['the stat sweep', { watcher: false, sweepMs: 50 }],
    ['the full resync', { watcher: false, resyncSeconds: 1 }],
  ])('captures a save by %s alone', async (_, nets) => {
    await writeRegistry({ triage: {} });
    await startDaemon(nets);
    await appendFile(file('rules'), 'one more\n');
    await reaches(2);
    await writeFile(`${file('rules')}.tmp`, '# Rules, replaced\n');
    await rename(`${file('rules')}.tmp`, file('rules'));
    await reaches(3);
  });

  test('answers a request of another process, with what was saved before it was asked', async () => {
    await writeRegistry({ triage: {} });
    await startDaemon({ watcher: false });
    await appendFile(file('rules'), 'asked for\n');
    const asked = await requestRefresh(database.context(), { agentKey: 'triage' });
    expect(asked).toMatchObject({ state: 'DONE', outcome: 'LOADED', loadedNumber: 2 });
    const again = await requestRefresh(database.context(), { agentKey: 'triage' });
    expect(again).toMatchObject({
      state: 'DONE',
      outcome: 'UNCHANGED',
      matchingNumber: 2,
      reason: 'same_checksum',
    });
  });

  test('takes an agent of an environment that it does not watch when asked, and only then (K-009)', async () => {
    await writeRegistry({ triage: {} });
    await startDaemon();
    const dev = () => readPackage(database.context(), 'triage', 'dev');
    expect((await dev()).activeNumber).toBeNull();
    await requestRefresh(database.context(), { agentKey: 'triage', environment: 'dev' });
    expect((await dev()).activeNumber).toBe(1);
  });

  test('picks up a registry change by itself, and keeps the last good one when it breaks, also across a restart', async () => {
    await writeRegistry({ triage: {} });
    const first = await startDaemon();
    await writeRegistry({ triage: { files: ['rules', 'core'] } });
    await reaches(2); // K-024: only the order changed, and the order is content.
    await writeFile(registryPath(), '{ "registry_version": ');
    const asked = await requestRefresh(database.context(), { agentKey: 'triage' });
    expect(asked).toMatchObject({ outcome: 'REGISTRY_REJECTED', reason: 'registry_bad_json' });
    await appendFile(file('core'), 'still watched\n');
    await reaches(3);
    await first[Symbol.asyncDispose]();
    await startDaemon();
    await appendFile(file('core'), 'after the restart\n');
    await reaches(4);
  });

  test('tells of a refused registry and of its end once each, however many nets and requests see it', async () => {
    await writeRegistry({ triage: {} });
    const logger = recordingLogger();
    // The timer alone, so that a request is what sees the file first.
    await startDaemon({ watcher: false, resyncSeconds: 1, logger });
    const good = await readFile(registryPath(), 'utf8');
    const told = () => logger.lines.map((line) => line.message).filter((text) => /registry/.test(text));
    for (let round = 1; round <= 3; round += 1) {
      await writeFile(registryPath(), '{');
      const refused = await requestRefresh(database.context(), { agentKey: 'triage' });
      expect(refused).toMatchObject({ outcome: 'REGISTRY_REJECTED' });
      await eventually(
        async () => told(),
        (texts) => texts.filter((text) => text.startsWith('registry refused')).length >= round,
      );
      await writeFile(registryPath(), good);
      await eventually(
        async () => told(),
        (texts) => texts.filter((text) => text === 'the registry is accepted again').length >= round,
      );
    }
    expect(told().filter((text) => text.startsWith('registry refused'))).toHaveLength(3);
    expect(told().filter((text) => text === 'the registry is accepted again')).toHaveLength(3);
  });

  test('leaves a rollback alone however often the timer looks, and goes on with the next number (R3, G-07)', async () => {
    await writeRegistry({ triage: {} });
    await startDaemon({ resyncSeconds: 1 });
    for (const number of [2, 3]) {
      await appendFile(file('rules'), `text ${number}\n`);
      await reaches(number);
    }
    await activateVersion(database.context(), { agentKey: 'triage', knowledgeVersion: 'v1' });
    await new Promise((resolve) => setTimeout(resolve, 3500));
    expect(await packageOf()).toMatchObject({ activeNumber: 1, nextNumber: 4 });
    const asked = await requestRefresh(database.context(), { agentKey: 'triage' });
    expect(asked).toMatchObject({ outcome: 'UNCHANGED', matchingNumber: 3 });
    await appendFile(file('rules'), 'new\n');
    await reaches(4);
  });

  test('audits a failure once however often it is seen, and again when it is another one', async () => {
    await writeRegistry({ triage: {} });
    await startDaemon({ watcher: false, sweepMs: 50, resyncSeconds: 1 });
    await unlink(file('rules'));
    const failures = async () => {
      const page = await readAuditLog(database.context(), { action: 'agent.knowledge_failed' });
      return page.rows.map((event) => (JSON.parse(event.details) as { reason: string }).reason);
    };
    await eventually(failures, (reasons) => reasons.length === 1);
    await new Promise((resolve) => setTimeout(resolve, 2500));
    expect(await failures()).toEqual(['missing_required']);
    await writeFile(file('rules'), '  \n');
    await eventually(failures, (reasons) => reasons.length === 2);
    expect(await failures()).toEqual(['empty_required', 'missing_required']);
    expect((await packageOf()).activeNumber).toBe(1);
  });

  test('two daemons on one folder make one version per change (F8)', async () => {
    await writeRegistry({ triage: {} });
    await Promise.all([startDaemon(), startDaemon()]);
    for (const number of [2, 3, 4, 5]) {
      await appendFile(file('rules'), `text ${number}\n`);
      await reaches(number);
      await new Promise((resolve) => setTimeout(resolve, 300));
      expect((await packageOf()).nextNumber).toBe(number + 1);
    }
  });

  test('takes over what a daemon that died had begun', async () => {
    await writeRegistry({ triage: {} });
    await startDaemon({ watcher: false });
    await appendFile(file('rules'), 'begun elsewhere\n');
    const asked = await requestRefresh(
      { ...database.context(), queue: { requestRefresh: async () => undefined } as never },
      {
        agentKey: 'triage',
        waitSeconds: 0,
      },
    );
    await database.asSuperuser((client) =>
      client.query(
        `update agent_knowledge.refresh_attempt set state = 'RUNNING', daemon_id = 'gone' where id = $1`,
        [asked.id],
      ),
    );
    await reaches(2);
  });
});
