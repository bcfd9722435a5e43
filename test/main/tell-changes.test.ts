import { afterAll, beforeAll, expect, test } from 'vitest';
import { activateVersion } from '../../src/operations/activate-version.ts';
import { holdPackage, releasePackage } from '../../src/operations/hold-package.ts';
import { promoteVersion } from '../../src/operations/promote-version.ts';
import { asOperator } from '../../src/main/runtime.ts';
import { describeChange } from '../../src/main/describe-change.ts';
import { describeLook } from '../../src/main/describe-look.ts';
import { LookLines } from '../../src/main/look-lines.ts';
import type { ScreenLine } from '../../src/main/screen-line.ts';
import { tellChanges } from '../../src/main/tell-changes.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { openLooks, type TestAgent, type TestLooks } from '../support/looks.ts';
import { eventually } from '../support/processes.ts';

let database: TestDatabase;
let looks: TestLooks;

beforeAll(async () => {
  database = await createTestDatabase();
  looks = await openLooks(database);
});

afterAll(() => database[Symbol.asyncDispose]());

/** Follows while `work` is done and answers what was told of a package until so many lines were. */
async function toldOf(agent: TestAgent, count: number, work: () => Promise<unknown>): Promise<ScreenLine[]> {
  const lines: ScreenLine[] = [];
  await using _telling = await tellChanges(database.context(), (line) => void lines.push(line));
  await work();
  const own = () => lines.filter(({ text }) => text.startsWith(`${agent.name.agentKey} (`));
  await eventually(
    async () => own().length,
    (found) => found >= count,
  );
  return own();
}

test('each version, activation, hold and release is told once, in order, with who did it and why', async () => {
  const agent = looks.agent();
  const { agentKey } = agent.name;
  const anna = await asOperator(database.context());
  const by = ` by ${(await import('node:os')).userInfo().username}`;
  const lines = await toldOf(agent, 8, async () => {
    await agent.refresh({ 'core.md': 'one', 'extra-1.md': 'x', 'extra-2.md': 'y' });
    await agent.refresh({ 'core.md': 'two', 'extra-1.md': 'x' });
    await activateVersion(anna, { agentKey, knowledgeVersion: 'v1', hold: true, reason: 'wrong language' });
    await agent.refresh({ 'core.md': 'three', 'extra-1.md': 'x' });
    await releasePackage(anna, { agentKey, activateNewest: true });
    await holdPackage(anna, { agentKey, reason: 'review' });
  });
  const name = `${agentKey} (production): `;
  expect(lines.map(({ text }) => text.split('\n')[0])).toEqual([
    `${name}v1 is active: 3 files.`,
    `${name}v2 is active: 1 of 2 files changed, 1 gone.`,
    `${name}v1 was activated${by} and is active.`,
    expect.stringContaining(`${name}held${by}`),
    expect.stringMatching(/v3 is stored.*: 1 of 2 files changed\.$/),
    `${name}released${by}; v1 is active.`,
    `${name}v3 was activated${by} and is active.`,
    `${name}held${by}: review`,
  ]);
  expect(lines.map(({ tone }) => tone)).toEqual([
    'good',
    'good',
    'good',
    'waiting',
    'waiting',
    undefined,
    'good',
    'waiting',
  ]);
});

test('a version that was promoted by a person is told like one that the daemon loaded', async () => {
  const agent = looks.agent();
  const { agentKey } = agent.name;
  await agent.refresh('one');
  const lines = await toldOf(agent, 1, async () =>
    promoteVersion(await asOperator(database.context()), {
      agentKey,
      knowledgeVersion: 'v1',
      from: 'production',
      to: 'staging',
    }),
  );
  expect(lines[0]?.text).toMatch(/\(staging\): v1 is active by .*: 1 file\.$/);
});

test('where an older database has taken the place of this one, it goes on from there', async () => {
  await using restored = await createTestDatabase();
  const agent = (await openLooks(restored)).agent();
  await agent.refresh('one');
  const lines: string[] = [];
  await using _telling = await tellChanges(restored.context(), ({ text }) => void lines.push(text));
  const moveHead = (by: number) =>
    restored.asSuperuser(async (client) => {
      await client.query('set session_replication_role = replica');
      await client.query('update agent_knowledge.event_head set sequence = sequence + $1', [by]);
    });
  // The log is shorter than it was; then it grows as any log.
  await moveHead(-1);
  await eventually(
    async () => restored.context().feed.callers.length,
    (count) => count === 0,
  );
  await moveHead(1);
  await eventually(
    async () => restored.context().feed.callers.length,
    (count) => count === 1,
  );
  await agent.refresh('two');
  await eventually(
    async () => lines.length,
    (count) => count > 0,
  );
  expect(lines).toEqual([expect.stringContaining('v2 is active')]);
});

test('control: told by the look as well, a version would stand on the screen twice', async () => {
  const agent = looks.agent();
  const { agentKey, environment } = agent.name;
  const twice: string[] = [];
  const lines = await toldOf(agent, 1, async () => {
    const result = await agent.refresh('one');
    expect(new LookLines().lineOf(agentKey, environment, result)).toBeNull();
    twice.push(describeLook(agentKey, environment, result));
  });
  expect(
    [...twice, ...lines.map(({ text }) => text)].filter((text) => text.includes('v1 is active')),
  ).toHaveLength(2);
});

test('a reason and a name of several lines stay one line, and their control characters are shown (T54)', () => {
  const change = {
    sequence: 1n,
    kind: 'HELD',
    agentKey: 'triage',
    environment: 'production',
    knowledgeVersion: null,
    activated: false,
    actorRef: 'key:1',
    actorName: 'anna\r\n12:34:56  ben',
  } as unknown as Parameters<typeof describeChange>[0];
  const hold = { reason: 'review\n12:34:56  other (production): v9 is active.\u001b[2J' } as never;
  expect(describeChange(change, { hold, files: null, warnings: [] }).text).toBe(
    'triage (production): held by anna 12:34:56  ben: review 12:34:56  other (production): v9 is active.\\u001b[2J',
  );
});
