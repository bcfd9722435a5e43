import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sha256 } from '../../src/core/checksum.ts';
import { createTestDatabase } from '../support/database.ts';
import { checkHistory } from '../support/history/checker.ts';
import { describeFault } from '../support/history/fault.ts';
import { readFinalState, type FinalPackage, type FinalState } from '../support/history/final-state.ts';
import { chainAnew } from '../support/history/made-history.ts';
import { OperationClient } from '../support/history/operation-client.ts';
import type { Call } from '../support/history/record.ts';
import { Recorder } from '../support/history/recorder.ts';
import { openLooks, type TestAgent } from '../support/looks.ts';

/* The checker on a history that really happened: eight clients at once on a real database, then copies with a fault each. */

const clients = 8;
const turns = 12;

let calls: readonly Call[];
let state: FinalState;
const stack = new AsyncDisposableStack();
beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'ak-history-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const database = stack.use(await createTestDatabase());
  const looks = await openLooks(database);
  const recorder = stack.use(new Recorder(join(folder, 'history.jsonl')));
  const agents = [looks.agent(), looks.agent()];
  for (const agent of agents) await agent.refresh('first');
  await Promise.all(
    Array.from({ length: clients }, async (_, index) => {
      const client = await OperationClient.open(database, recorder, `client ${index}`);
      for (let turn = 0; turn < turns; turn += 1) await act(client, agents[(turn >> 2) % 2]!, turn);
    }),
  );
  ({ calls, state } = await recorder.around(() => database.asSuperuser(readFinalState)));
});
afterAll(() => stack.disposeAsync());

function act(client: OperationClient, agent: TestAgent, turn: number): Promise<unknown> {
  if (turn % 4 === 0) return client.refresh(agent, `turn ${turn} of ${client.name}`);
  if (turn % 4 === 1) return client.read(agent);
  if (turn % 4 === 2) return client.activate(agent, 1, { key: `turn ${turn}` });
  return turn % 8 === 3 ? client.hold(agent, `turn ${turn} of ${client.name}`) : client.release(agent);
}

const checksOf = (changedCalls: readonly Call[], changed: FinalState = state) =>
  checkHistory(changedCalls, changed).map(({ check }) => check);
const change = <T>(items: readonly T[], isIt: (item: T) => boolean, change: (item: T) => T): T[] => {
  const at = items.findLastIndex(isIt);
  if (at < 0) throw new Error('Expected the recorded history to hold a case of this; it holds none.');
  return items.with(at, change(items[at] as T));
};
const withPackage = (isIt: (entry: FinalPackage) => boolean, by: (entry: FinalPackage) => FinalPackage) => ({
  ...state,
  packages: change(state.packages, isIt, by),
});
const hasVersions = ({ versions }: FinalPackage) => versions.length > 2;

test('a recorded history of refreshes, activations, holds and reads at once passes', () => {
  expect(checkHistory(calls, state).map(describeFault)).toEqual([]);
  expect(calls).toHaveLength(clients * turns);
  expect(new Set(calls.map(({ end }) => end))).toContain('ok');
});

describe('the same history is refused with', () => {
  test('a version fewer (C1, C2)', () => {
    const cut = withPackage(hasVersions, (entry) => ({ ...entry, versions: entry.versions.slice(0, -1) }));
    expect(checksOf(calls, cut)).toEqual(expect.arrayContaining(['C1', 'C2']));
  });

  test('an acknowledged change called a refused one (C3)', () => {
    const refused = change(
      calls,
      (call) => call.operation === 'refresh' && call.result.note === 'LOADED',
      (call) => ({ ...call, end: 'fail' as const }),
    );
    expect(checksOf(refused)).toEqual(['C3']);
  });

  test('the last read told of the first generation (C4)', () => {
    const stale = change(
      calls,
      (call) => call.operation === 'read' && call.end === 'ok' && (call.result.seen?.generation ?? 0) > 2,
      (call) => ({ ...call, result: { seen: { ...call.result.seen!, generation: 1 } } }),
    );
    expect(checksOf(stale)).toContain('C4');
  });

  test('a client that sees two answers in the other order (C5)', () => {
    const seeing = calls.filter((call) => call.end === 'ok' && call.result.seen);
    const later = seeing.findLast((call) => (call.result.seen?.generation ?? 0) > 2)!;
    const earlier = {
      ...later,
      startedAt: 0,
      endedAt: later.endedAt + 1,
      result: { seen: seenFirst(later) },
    };
    expect(checksOf([...calls, { ...earlier, id: 'planted' }])).toContain('C5');
  });

  test('a flipped byte (C6)', () => {
    const flipped = withPackage(hasVersions, (entry) => ({
      ...entry,
      versions: entry.versions.map((version) => ({
        ...version,
        files: version.files.map((file) => ({ ...file, contentChecksum: sha256('flipped') })),
      })),
    }));
    expect(checksOf(calls, flipped)).toContain('C6');
  });

  test('an event less, the log chained anew by somebody who knows the rule (C7)', () => {
    const at = state.events.findIndex(({ action }) => action === 'agent.knowledge_rollback');
    const events = chainAnew(state.events.toSpliced(at, 1));
    expect(checksOf(calls, { ...state, events })).toContain('C7');
  });

  test('an activation that came about twice (C9)', () => {
    const at = state.events.findLastIndex(({ action }) => action === 'agent.knowledge_rollback');
    const again = Array.from({ length: calls.length }, () => state.events[at]!);
    const events = chainAnew(state.events.toSpliced(at, 0, ...again));
    expect(checksOf(calls, { ...state, events })).toContain('C9');
  });
});

function seenFirst({ package: name }: Call) {
  const [first] = state.packages.find((entry) => entry.name === name)!.versions;
  return { generation: 1, active: 1, checksum: first!.checksum };
}
