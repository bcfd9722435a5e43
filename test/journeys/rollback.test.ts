import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { KnownPackage } from '../../src/core/plan-capture.ts';
import { judgeLook, planRefresh } from '../../src/core/plan-refresh.ts';
import { readKnownPackage } from '../../src/operations/known-package.ts';
import { CrashStage } from '../support/crash/crash-stage.ts';
import { createTestDatabase, testPolicy, type TestDatabase } from '../support/database.ts';
import { checkHistory } from '../support/history/checker.ts';
import { describeFault } from '../support/history/fault.ts';
import { readFinalState } from '../support/history/final-state.ts';
import { HttpClient } from '../support/history/http-client.ts';
import { OperationClient } from '../support/history/operation-client.ts';
import type { Outcome } from '../support/history/record.ts';
import { Recorder } from '../support/history/recorder.ts';
import { lookOf, openLooks, type TestAgent } from '../support/looks.ts';
import { eventually } from '../support/processes.ts';

/* R3: rollback against refresh (G2, G10, F41, G-07). Every step is recorded, and the whole history must hold. */

const long = process.env['AGENT_KNOWLEDGE_TEST_LONG'] === '1';
const racers = 50;

let stack: AsyncDisposableStack;
let recorder: Recorder;
beforeEach(async () => {
  stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'ak-rollback-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  recorder = stack.use(new Recorder(join(folder, 'history.jsonl')));
});
afterEach(() => stack.disposeAsync());

/** Step 2 in one word: what the source holds is v3, which is there already, so v1 stays. */
function expectNothingNew(found: {
  readonly outcome: string;
  readonly matchingNumber?: number | null;
}): void {
  expect(found).toMatchObject({ outcome: 'UNCHANGED', matchingNumber: 3 });
}

describe('a rollback', () => {
  let database: TestDatabase;
  let agent: TestAgent;
  let operator: OperationClient;
  beforeEach(async () => {
    database = stack.use(await createTestDatabase());
    agent = (await openLooks(database)).agent();
    operator = await OperationClient.open(database, recorder, 'operator');
    for (const text of ['one', 'two', 'three']) await operator.refresh(agent, text);
    await operator.activate(agent, 1); // Step 1.
  });

  const stands = async (expected: object) => expect(await agent.row()).toMatchObject(expected);
  const open = (name: string) => OperationClient.open(database, recorder, name);

  test('stays while the source brings nothing new, ends with new content, and holds where it is told to (R3)', async () => {
    await stands({ activeNumber: 1, nextNumber: 4, generation: 4 });
    for (let look = 0; look < 5; look += 1) {
      expectNothingNew(await agent.refresh('three', { trigger: 'resync' })); // Step 2.
      await stands({ activeNumber: 1, nextNumber: 4, generation: 4 });
    }
    await operator.refresh(agent, 'four'); // Step 3.
    await stands({ activeNumber: 4, nextNumber: 5, generation: 5 });
    await operator.activate(agent, 2, { hold: true }); // Step 4.
    await operator.refresh(agent, 'five');
    await stands({ activeNumber: 2, nextNumber: 6, generation: 6 });

    const clients = await Promise.all(Array.from({ length: racers }, (_, index) => open(`racer ${index}`)));
    const held = await race('held', clients); // Step 5: while it is held, only activations move the pointer.
    await stands({ generation: 6 + held.moved, nextNumber: 6 + held.loaded });
    await operator.release(agent); // Step 6: moves nothing.
    await stands({ generation: 6 + held.moved, hold: null });
    const free = await race('free', clients); // Step 5 once more: now loads move it as well.
    await stands({ generation: 6 + held.moved + free.moved + free.loaded });

    const { calls, state } = await recorder.around(() => database.asSuperuser(readFinalState));
    expect(checkHistory(calls, state).map(describeFault)).toEqual([]);
  });

  /** 50 activations that say what they believe to be active, against 50 refreshes with a content each. */
  async function race(
    round: string,
    clients: readonly OperationClient[],
  ): Promise<{ moved: number; loaded: number }> {
    const before = (await agent.events()).length;
    const refreshing = clients.map((client, index) =>
      insist(() => client.refresh(agent, `${round} ${index}`)),
    );
    const activating = clients.map((client) => insist(() => activateAnother(client)));
    const loaded = (await Promise.all(refreshing)).filter(({ result }) => result.note === 'LOADED');
    const activated = await Promise.all(activating);
    const moved = activated.filter(({ end }) => end === 'ok');
    const losers = activated.filter(({ end }) => end === 'fail');
    for (const { result } of losers) {
      expect(result.note).toMatch(/^CONFLICT: Expected v\d+ to be active; v\d+ is/);
      expect(result.note).toContain(`; v${result.current} is`);
    }
    const actions = (await agent.events()).slice(before).map(({ action }) => action);
    // Each success one event, and none more.
    expect(actions.filter((action) => action === 'agent.knowledge_rollback')).toHaveLength(moved.length);
    expect(actions.filter((action) => action === 'agent.knowledge_loaded')).toHaveLength(loaded.length);
    expect([moved.length > 0, losers.length > 0, loaded.length > 0]).toEqual([true, true, true]);
    return { moved: moved.length, loaded: loaded.length };
  }

  async function activateAnother(client: OperationClient): Promise<Outcome> {
    const expectedActive = (await agent.row()).activeNumber!;
    return client.activate(agent, (expectedActive % 3) + 1, { expectedActive });
  }

  test('control: a plan that compared with the active version alone would bring v3 back (R3)', async () => {
    const row = await agent.row();
    const known = await database.database.read((queries) => readKnownPackage(queries, row));
    const judged = judgeLook(
      agent.definition,
      lookOf(agent.definition.files, 'three'),
      testPolicy.maxFileBytes,
    );
    const policy = { activate: 'auto', shrinkHold: true, acceptShrink: false } as const;
    const limits = { ...policy, maxVersionsPerHour: 0, versionsInLastHour: 0 };
    const plan = (change: Partial<KnownPackage>) =>
      planRefresh({
        definition: agent.definition,
        judged,
        known: { ...known, ...change },
        ticket: row.lastTicket + 1,
        policy: limits,
      });
    expectNothingNew(plan({}));
    expect(() => expectNothingNew(plan({ newest: known.active }))).toThrow();
    expect(plan({ newest: known.active })).toMatchObject({ outcome: 'LOADED', number: 4, activates: true });
  });
});

/** Asks again while it is told that too much is under way and nothing was changed. */
async function insist(ask: () => Promise<Outcome>): Promise<Outcome> {
  for (;;) {
    const outcome = await ask();
    const busy = outcome.end === 'fail' && outcome.result.note?.startsWith('UNAVAILABLE') === true;
    if (!busy && outcome.result.note !== 'SUPERSEDED') return outcome;
  }
}

if (long)
  test('the same through API and daemon: five looks of the timer, a race over HTTP, a release (R3)', async () => {
    const names = Array.from({ length: racers }, (_, index) => `racer ${index}`);
    const stage = stack.use(
      await CrashStage.open({
        agents: ['alpha'],
        files: ['operator.md', ...names.map((name) => `${name}.md`)],
        clients: ['operator', ...names],
        env: { AGENT_KNOWLEDGE_RESYNC_SECONDS: '1' },
      }),
    );
    const { signal } = new AbortController();
    const clientOf = (name: string) =>
      new HttpClient({ recorder, name, key: stage.keys.get(name)!, url: () => stage.url, signal });
    const operator = clientOf('operator');
    const save = async (client: HttpClient, text: string, key = text) => {
      const file = { relativePath: `alpha/${client.name}.md`, text: `# Alpha\n\n${text}\n` };
      await stage.save(file.relativePath, file.text);
      return client.refresh('alpha', file, key);
    };
    const row = async () => {
      const { packages } = await stage.asSuperuser(readFinalState);
      return packages.find(({ name }) => name === 'alpha/production')!;
    };
    const lastLook = () =>
      stage.asSuperuser(async (client) => {
        const { rows } = await client.query<{ at: Date }>(
          `select last_look_at as at from agent_knowledge.source_status where agent_key = 'alpha' and environment = 'production'`,
        );
        return rows[0]!.at.getTime();
      });

    await save(operator, 'two');
    await save(operator, 'three');
    await operator.activate('alpha', 1, { key: 'step 1' });
    for (let look = 0, seen = await lastLook(); look < 5; look += 1) {
      seen = await eventually(lastLook, (at) => at > seen);
      expect(await row()).toMatchObject({ active: 1, nextNumber: 4, generation: 4 });
    }
    expect((await save(operator, 'three', 'step 2')).result).toMatchObject({
      note: 'UNCHANGED',
      version: { number: 3 },
    });
    expect((await save(operator, 'four')).result).toMatchObject({ note: 'LOADED', version: { number: 4 } });
    await operator.activate('alpha', 2, { key: 'step 4', hold: true });
    await save(operator, 'five');
    expect(await row()).toMatchObject({ active: 2, nextNumber: 6, generation: 6, held: true });
    const racing = names.map(async (name, index) => {
      const client = clientOf(name);
      const refreshing = save(client, name);
      const { active } = await row();
      await client.activate('alpha', (index % 5) + 1, { key: name, expectedActive: active! });
      await refreshing;
    });
    await Promise.all(racing);

    const { calls, state } = await recorder.around(() => stage.asSuperuser(readFinalState));
    expect(checkHistory(calls, state).map(describeFault)).toEqual([]);
    const activations = calls.filter(({ operation }) => operation === 'activate');
    expect(activations.filter(({ end }) => end === 'fail').length).toBeGreaterThan(0);
  }, 180_000);
