import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  misbehave,
  pace,
  refreshOf,
  slowest,
  startNeighbours,
  type Neighbours,
} from '../support/neighbours.ts';
import { ask } from '../support/probe.ts';
import { eventually } from '../support/processes.ts';
import { peakMemoryMib } from '../support/watched-processes.ts';

/* R15 (F60, T40, G11, G16): whatever one agent's files and callers do, the other nineteen keep their pace. */

const long = process.env['AGENT_KNOWLEDGE_TEST_LONG'] === '1';
const ms = long ? 30_000 : 3000;
/** Far above what the good ones make, far below what a flipping file would. */
const versionsPerHour = long ? 60 : 12;

let neighbours: Neighbours;
beforeAll(async () => {
  neighbours = await startNeighbours({ AGENT_KNOWLEDGE_MAX_VERSIONS_PER_HOUR: String(versionsPerHour) });
}, 120_000);
afterAll(() => neighbours[Symbol.asyncDispose]());

test('one bad neighbour never hurts the others', async () => {
  const { api, daemon, own, bad } = neighbours;
  const quiet = await pace(neighbours, { name: 'quiet', ms, readers: 4 });
  const ending = new AbortController();
  const misbehaving = misbehave(neighbours, ending.signal);
  const loud = await pace(neighbours, { name: 'loud', ms, readers: 8 });
  ending.abort();
  await misbehaving;

  for (const answer of [...quiet.refreshes, ...loud.refreshes]) {
    expect(answer).toMatchObject({ codes: [], data: { refresh: { state: 'DONE' } } });
  }
  expect([...quiet.reads, ...loud.reads].flatMap((answer) => answer.codes)).toEqual([]);
  // Bounds that only a hang would break on a busy machine; the figures themselves are the benchmark's.
  expect(slowest(loud.refreshes, 0.95)).toBeLessThan(Math.max(5 * slowest(quiet.refreshes, 0.95), 5000));
  expect(slowest(loud.reads, 0.95)).toBeLessThan(3000);
  expect(peakMemoryMib(daemon.process.pid ?? 0)).toBeLessThan(700);
  expect([api.command.process.exitCode, daemon.process.exitCode]).toEqual([null, null]);

  // The bad one can be put right.
  await own.save(bad, 'well again');
  const healed = await eventually(
    () => ask(api.url, refreshOf(bad)),
    (answer) => answer.codes.length === 0,
  );
  expect(healed.data?.['refresh']).toMatchObject({ state: 'DONE' });
}, 300_000);

test('a package that flips past its versions an hour is held, with an event, and the others are not (T42)', async () => {
  const { api, own, good } = neighbours;
  const [steady, flipping] = [good[0] ?? '', good[1] ?? ''];
  const causeOf = async (agent: string) => {
    const { data } = await ask(api.url, `{ package(agentKey: "${agent}") { hold { cause } } }`);
    const found = data?.['package'] as { hold: { cause: string } | null } | undefined;
    return found?.hold?.cause ?? null;
  };
  let flips = 0;
  await eventually(
    async () => {
      await own.save(flipping, `flip ${(flips += 1)}`);
      await ask(api.url, refreshOf(flipping));
      return causeOf(flipping);
    },
    (cause) => cause === 'RATE',
    300_000,
    1,
  );
  const held = await ask(
    api.url,
    `{ auditEvents(agentKey: "${flipping}", action: "agent.knowledge_held", first: 1) { nodes { details } } }`,
  );
  expect(JSON.stringify(held.data)).toContain('RATE');
  expect(await causeOf(steady)).toBeNull();
}, 400_000);
