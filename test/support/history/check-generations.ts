import { faultsOf, type Check } from './fault.ts';
import type { Call } from './record.ts';

/** C5: nobody sees a generation go down; where reads may lag, nobody does who stays with one process (G5). */
export const checkGenerations: Check = (history) => {
  const fault = faultsOf('C5', history);
  const last = new Map<string, { call: Call; generation: number }>();
  const inOrder = history.calls.filter(({ end }) => end === 'ok').toSorted((a, b) => a.endedAt - b.endedAt);
  return inOrder.flatMap((call) => {
    const generation = call.result.seen?.generation;
    if (generation === undefined) return [];
    const who = JSON.stringify([call.client, history.lagMs > 0 ? call.process : '']);
    const before = last.get(who);
    last.set(who, { call, generation });
    if (before === undefined || before.generation <= generation) return [];
    const expected = `generation ${before.generation} or later, as ${before.call.operation} ${before.call.id} had seen`;
    return [fault(call, expected, `generation ${generation}`)];
  });
};
