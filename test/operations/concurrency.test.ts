import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { sha256 } from '../../src/core/checksum.ts';
import { KnowledgeError } from '../../src/core/errors.ts';
import { versionName } from '../../src/core/package.ts';
import { activateVersion } from '../../src/operations/activate-version.ts';
import { readHistory, readManifests, readVersion } from '../../src/operations/read-knowledge.ts';
import { appendEvent } from '../../src/store/knowledge-events.ts';
import type { AttemptResult } from '../../src/store/refreshes.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { openLooks, type TestAgent, type TestLooks } from '../support/looks.ts';

/* Recipes R2 and R3 in short, F27, F39…F41, F47: many at once, numbers and pointers as if they had come one by one. */

const long = process.env['AGENT_KNOWLEDGE_TEST_LONG'] === '1';
if (long) vi.setConfig({ testTimeout: 600_000 });
const rounds = long ? 10 : 1;

let database: TestDatabase;
let looks: TestLooks;
beforeAll(async () => {
  database = await createTestDatabase();
  looks = await openLooks(database);
});
afterAll(() => database[Symbol.asyncDispose]());

const many = <T>(count: number, work: (index: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, index) => work(index)));

/**
 * What a good caller does: asks again while the answer is `UNAVAILABLE`, which says that nothing was changed. A hundred
 * at once wait longer for a connection than the pool lets anybody wait.
 */
async function insist<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof KnowledgeError) || error.code !== 'UNAVAILABLE') throw error;
      expect(error.message).toMatch(/nothing was changed/);
    }
  }
}

async function numbersOf(agent: TestAgent): Promise<number[]> {
  const numbers: number[] = [];
  for (let after: string | null = null; ;) {
    const page = await readHistory(database.context(), agent.name, { first: 200, after });
    numbers.push(...page.rows.map((version) => version.number));
    if (!page.hasNextPage) return numbers.toReversed();
    after = page.cursorOf(page.rows.at(-1)!);
  }
}

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

/** Looks again as often as a newer look has finished first: a look that begins last is never overtaken. */
async function refreshUntilSeen(agent: TestAgent, text: string): Promise<AttemptResult> {
  for (;;) {
    const result = await insist(() => agent.refresh(text));
    if (result.outcome !== 'SUPERSEDED') return result;
  }
}

describe('a hundred refreshes of one agent at once', () => {
  it('with a hundred contents give the numbers 1…100 without a gap, each with what its look found (F39, R2)', async () => {
    for (let round = 0; round < rounds; round += 1) {
      const agent = looks.agent();
      const answers = await many(100, async (index) => {
        const text = `content ${index}`;
        return { text, result: await refreshUntilSeen(agent, text) };
      });
      expect(answers.map(({ result }) => result.outcome)).toEqual(Array(100).fill('LOADED'));
      expect(await numbersOf(agent)).toEqual(upTo(100));
      for (const { text, result } of answers) {
        const knowledgeVersion = versionName(result.loadedNumber!);
        const version = await readVersion(database.context(), { ...agent.name, knowledgeVersion });
        const [file] = await readManifests(database.context(), [version.id]);
        expect(file!.checksum).toBe(sha256(text));
      }
      expect(await agent.row()).toMatchObject({ generation: 100, activeNumber: 100, nextNumber: 101 });
    }
  });

  it('with one content give one version; the others find it unchanged or are overtaken (F40)', async () => {
    for (let round = 0; round < rounds; round += 1) {
      const agent = looks.agent();
      const answers = await many(100, () => refreshUntilSeen(agent, 'the same'));
      const loaded = answers.filter((result) => result.outcome === 'LOADED');
      const unchanged = answers.filter((result) => result.outcome === 'UNCHANGED');
      expect([loaded.length, unchanged.length]).toEqual([1, 99]);
      expect(unchanged.every((result) => result.matchingNumber === 1)).toBe(true);
      expect(await numbersOf(agent)).toEqual([1]);
    }
  });

  it('would fail for most without the lock and the counter: the control', async () => {
    await database.asSuperuser((client) =>
      client.query(`create table agent_knowledge.scratch_version (number integer primary key);
        grant select, insert on agent_knowledge.scratch_version to agent_knowledge_app`),
    );
    const outcomes = await many(100, async () => {
      try {
        await insist(() =>
          database.database.transaction(async (queries) => {
            const next = sql`select coalesce(max(number), 0) + 1 as number from scratch_version`;
            const { rows } = await sql<{ number: number }>`${next}`.execute(queries);
            await sql`insert into scratch_version values (${rows[0]!.number})`.execute(queries);
          }),
        );
        return 'stored';
      } catch (error) {
        return (error as { code: string }).code;
      }
    });
    const failed = outcomes.filter((outcome) => outcome === '23505');
    expect(failed.length + outcomes.filter((outcome) => outcome === 'stored').length).toBe(100);
    expect(failed.length).toBeGreaterThan(50);
  });
});

describe('activations racing refreshes', () => {
  it('each have their event or their CONFLICT, and the generation counts the moves (F41, R3)', async () => {
    for (let round = 0; round < rounds; round += 1) {
      const agent = looks.agent();
      for (const text of ['one', 'two', 'three']) await agent.refresh(text);
      const before = (await agent.events()).length;
      const refreshes = many(50, (index) => insist(() => agent.refresh(`new ${index}`)));
      const activations = many(50, async (index) => {
        const { activeNumber } = await agent.row();
        const expectedActive = versionName(activeNumber!);
        const knowledgeVersion = versionName((activeNumber! % 3) + 1);
        try {
          await insist(() =>
            activateVersion(database.context(), { ...agent.name, knowledgeVersion, expectedActive }),
          );
          return { index, moved: knowledgeVersion !== expectedActive };
        } catch (error) {
          // The loser is told what is active now, which is not what it believed.
          expect(error).toMatchObject({ code: 'CONFLICT' });
          const { current } = (error as KnowledgeError).details;
          expect(current).toMatch(/^v\d+$/);
          expect(current).not.toBe(expectedActive);
          return { index, moved: false };
        }
      });
      const [looked, activated] = await Promise.all([refreshes, activations]);
      const loaded = looked.filter((result) => result.outcome === 'LOADED').length;
      const moved = activated.filter((activation) => activation.moved).length;
      const events = (await agent.events()).slice(before);
      const actions = events.map((event) => event.action);
      expect(actions.filter((action) => action === 'agent.knowledge_loaded')).toHaveLength(loaded);
      expect(actions.filter((action) => action === 'agent.knowledge_rollback')).toHaveLength(moved);
      expect(moved).toBeGreaterThan(0);
      expect(loaded).toBeGreaterThan(0);
      const { generation, activeNumber } = await agent.row();
      expect(generation).toBe(3 + loaded + moved);
      // The last event says where the pointer stands, and each says from where it came: one chain of moves.
      let active = 'v3';
      for (const { action, details, subject } of events) {
        expect(action === 'agent.knowledge_loaded' ? details['previousActive'] : details['from']).toBe(
          active,
        );
        active = subject!;
      }
      expect(active).toBe(versionName(activeNumber!));
      expect(await numbersOf(agent)).toEqual(upTo(3 + loaded));
    }
  });
});

describe('agents that share files', () => {
  it('are published in opposite order without a deadlock that anybody hears of (F47)', async () => {
    const agents = Array.from({ length: 20 }, () => looks.agent());
    for (let round = 0; round < 2 * rounds; round += 1) {
      const shared = Object.fromEntries(
        ['core.md', 'extra-1.md', 'extra-2.md', 'extra-3.md', 'extra-4.md'].map((path, index) => [
          path,
          `shared ${index} of round ${round}`,
        ]),
      );
      const texts = Object.values(shared);
      const results = await many(agents.length, (index) => {
        // Every second agent has the same contents under the paths in reverse.
        const files = Object.fromEntries(
          Object.keys(shared).map((path, at) => [path, texts[index % 2 === 0 ? at : 4 - at]!]),
        );
        return insist(() => agents[index]!.refresh(files));
      });
      expect(results.map((result) => result.outcome)).toEqual(Array(20).fill('LOADED'));
    }
    const { rows } = await database.asSuperuser((client) =>
      client.query<{ deadlocks: number }>(
        'select deadlocks::integer from pg_stat_database where datname = current_database()',
      ),
    );
    expect(rows[0]!.deadlocks).toBe(0);
  });
});

describe('two transactions that meet in a deadlock', () => {
  it('both come to their end: the one that is cut short runs again (F27)', async () => {
    const [a, b] = [looks.agent(), looks.agent()];
    let arrived = 0;
    let runs = 0;
    const { promise: bothHoldOne, resolve } = Promise.withResolvers<void>();
    const change = (first: TestAgent, second: TestAgent, stage: string) =>
      database.database.transaction(async (queries) => {
        runs += 1;
        for (const agent of [first, second]) {
          await queries
            .updateTable('package')
            .set({ stage })
            .where('agent_key', '=', agent.name.agentKey)
            .where('environment', '=', agent.name.environment)
            .execute();
          arrived += 1;
          if (arrived === 2) resolve();
          await bothHoldOne;
        }
        await appendEvent(queries, {
          actorId: database.context().caller.actorId,
          action: 'agent.knowledge_held',
          ...first.name,
          details: { by: stage },
        });
      });
    await Promise.all([change(a, b, 'first'), change(b, a, 'second')]);
    // Three, or more where a busy server lets them meet again.
    expect(runs).toBeGreaterThanOrEqual(3);
    const stages = [(await a.row()).stage, (await b.row()).stage];
    expect(stages[0]).toBe(stages[1]);
    expect([(await a.events()).length, (await b.events()).length]).toEqual([1, 1]);
  });

  it('is UNAVAILABLE to the caller when it happens every time (F28)', async () => {
    let runs = 0;
    const doomed = database.database.transaction(async (queries) => {
      runs += 1;
      await sql`do $$ begin raise exception 'deadlock' using errcode = '40P01'; end $$`.execute(queries);
    });
    await expect(doomed).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(runs).toBe(4);
  });
});
