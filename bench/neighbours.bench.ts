import { misbehave, pace, slowest, startNeighbours } from '../test/support/neighbours.ts';
import type { Answer } from '../test/support/probe.ts';
import { compared, type Bench, type Figure } from './harness.ts';

const ms = 20_000;

/** What nineteen agents notice of a twentieth that misbehaves in every way at once, with twice the readers (R15). */
export const neighbours: Bench = {
  name: 'neighbours',
  async run(): Promise<readonly Figure[]> {
    await using all = await startNeighbours();
    await pace(all, { name: 'warm up', ms: 5000, readers: 4 });
    const quiet = await pace(all, { name: 'quiet', ms, readers: 4 });
    const ending = new AbortController();
    const misbehaving = misbehave(all, ending.signal);
    const loud = await pace(all, { name: 'loud', ms, readers: 8 });
    ending.abort();
    await misbehaving;
    return [
      beside({
        name: 'refresh of a good agent, p50',
        loud: loud.refreshes,
        quiet: quiet.refreshes,
        share: 0.5,
      }),
      beside({
        name: 'refresh of a good agent, p95',
        loud: loud.refreshes,
        quiet: quiet.refreshes,
        share: 0.95,
      }),
      beside({ name: 'read, p50', loud: loud.reads, quiet: quiet.reads, share: 0.5 }),
      beside({ name: 'read, p99', loud: loud.reads, quiet: quiet.reads, share: 0.99 }),
    ];
  },
};

interface Compared {
  readonly name: string;
  readonly loud: readonly Answer[];
  readonly quiet: readonly Answer[];
  readonly share: number;
}

function beside({ name, loud, quiet, share }: Compared): Figure {
  const without = { name: 'without a bad neighbour', value: slowest(quiet, share) };
  return compared(name, slowest(loud, share), 'ms', without);
}
