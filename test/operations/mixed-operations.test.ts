import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { eventHash } from '../../src/core/events.ts';
import { acceptRegistry } from '../../src/operations/accept-registry.ts';
import { activateVersion } from '../../src/operations/activate-version.ts';
import type { CallContext } from '../../src/operations/context.ts';
import { holdPackage, releasePackage } from '../../src/operations/hold-package.ts';
import { noteUnchanged } from '../../src/operations/looker.ts';
import { promoteVersion } from '../../src/operations/promote-version.ts';
import { readHistory } from '../../src/operations/read-knowledge.ts';
import { listEvents } from '../../src/store/knowledge-events.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { openLooks, type TestAgent, type TestLooks } from '../support/looks.ts';

/*
 * Everything at once over a few packages: whatever the order, numbers are dense, the pointer is where its last event
 * says, the generation counts its moves, and no two transactions ever wait for each other in a circle (G1, G2, G13).
 */

const long = process.env['AGENT_KNOWLEDGE_TEST_LONG'] === '1';
const operations = long ? 20_000 : 400;
if (long) vi.setConfig({ testTimeout: 600_000 });

let database: TestDatabase;
let looks: TestLooks;
let context: CallContext;
beforeAll(async () => {
  database = await createTestDatabase();
  looks = await openLooks(database);
  context = database.context();
});
afterAll(() => database[Symbol.asyncDispose]());

const pick = <T>(from: readonly T[]): T => from[Math.floor(Math.random() * from.length)]!;
const texts = ['one', 'two', 'three', 'x'.repeat(5000), '', '<script>'];
const refusals = new Set(['CONFLICT', 'NOT_FOUND', 'UNAVAILABLE']);

it('any mix of operations leaves every package as its log tells', async () => {
  const agents = Array.from({ length: 4 }, () => looks.agent()).flatMap((agent) => [
    agent,
    looks.elsewhere(agent, 'dev'),
  ]);
  for (const agent of agents) await agent.refresh('first');
  let left = operations;
  const worker = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      try {
        await pick(deeds)(pick(agents), agents);
      } catch (error) {
        const code = (error as { code?: string }).code ?? '';
        if (!refusals.has(code)) throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: 16 }, worker));
  for (const agent of agents) await expectTold(agent);
  await expectChained();
  const { rows } = await database.asSuperuser((client) =>
    client.query<{ deadlocks: number }>(
      'select deadlocks::integer from pg_stat_database where datname = current_database()',
    ),
  );
  expect(rows[0]!.deadlocks).toBe(0);
  expect(await database.database.faults()).toEqual([]);
});

type Deed = (agent: TestAgent, all: readonly TestAgent[]) => Promise<unknown>;

const version = () => `v${1 + Math.floor(Math.random() * 6)}`;
const refresh: Deed = (agent) => agent.refresh({ 'core.md': pick(texts), 'extra-1.md': pick(texts) });

const deeds: readonly Deed[] = [
  refresh,
  refresh,
  refresh,
  async (agent) => {
    await agent.ask(context, { acceptShrink: true });
    return agent.refresh(pick(texts));
  },
  ({ name }) => activateVersion(context, { ...name, knowledgeVersion: version() }),
  ({ name }) =>
    activateVersion(context, {
      ...name,
      knowledgeVersion: version(),
      hold: pick([true, false]),
      reason: 'Same.',
    }),
  ({ name }) => activateVersion(context, { ...name, knowledgeVersion: version(), expectedActive: version() }),
  ({ name }) =>
    activateVersion(context, { ...name, knowledgeVersion: version(), idempotencyKey: pick(['a', 'b']) }),
  ({ name }) => holdPackage(context, { ...name, reason: pick(['Same.', 'Other.']) }),
  ({ name }) => releasePackage(context, { ...name, activateNewest: pick([true, false]) }),
  ({ name: { agentKey } }) =>
    promoteVersion(context, {
      agentKey,
      from: 'dev',
      to: 'production',
      knowledgeVersion: version(),
      hold: pick([true, null]),
      reason: 'Same.',
    }),
  ({ name: { agentKey } }) =>
    promoteVersion(context, { agentKey, from: 'production', to: 'dev', knowledgeVersion: version() }),
  (_, all) =>
    noteUnchanged(
      context,
      all.map((agent) => agent.name).toSorted(() => Math.random() - 0.5),
    ),
  () =>
    acceptRegistry(context, {
      bytes: pick([looks.registryBytes, looks.registryBytes, Buffer.from(`{${pick(texts)}`)]),
      looker: { id: 'mixer', actorId: context.caller.actorId },
      watchEnvironments: pick([['production'], ['dev'], ['dev', 'production']]),
    }),
];

/** A package stands where its events say, one by one. */
async function expectTold(agent: TestAgent): Promise<void> {
  const row = await agent.row();
  let [newest, generation, held] = [0, 0, false];
  let active: string | null = null;
  for (const { action, subject, details } of await agent.events()) {
    if (action === 'agent.knowledge_loaded') {
      newest += 1;
      expect(details).toMatchObject({ number: newest, previousActive: active });
    }
    if (action === 'agent.knowledge_rollback') expect(details['from']).toBe(active);
    if (action === 'agent.knowledge_rollback' || details['activated'] === true) {
      active = subject;
      generation += 1;
      expect(details['generation']).toBe(generation);
    }
    if (action === 'agent.knowledge_held') held = true;
    if (action === 'agent.knowledge_released') held = false;
  }
  expect(row.nextNumber).toBe(newest + 1);
  expect(row.generation).toBe(generation);
  expect(`v${row.activeNumber}`).toBe(active);
  expect(row.hold !== null).toBe(held);
  const { rows } = await readHistory(context, agent.name, { first: 200 });
  expect(rows.map((found) => found.number)).toEqual(
    Array.from({ length: Math.min(newest, 200) }, (_, index) => newest - index),
  );
  expect(rows.filter((found) => found.isActive)).toHaveLength(row.activeNumber! > newest - 200 ? 1 : 0);
}

async function expectChained(): Promise<void> {
  const everything = { agents: null, environments: null, general: true };
  const events = await database.database.read((queries) =>
    listEvents(queries, everything, { limit: 1_000_000, before: null }),
  );
  let previous = { sequence: 0, hash: '0'.repeat(64) };
  for (const event of events.toReversed()) {
    expect([event.sequence, event.previousHash]).toEqual([previous.sequence + 1, previous.hash]);
    expect(eventHash({ ...event, timeMicros: String(event.atMicros), actorId: event.actorRef })).toBe(
      event.hash,
    );
    previous = event;
  }
}
