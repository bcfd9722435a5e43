import { checkAcknowledged } from './check-acknowledged.ts';
import { checkBytes } from './check-bytes.ts';
import { checkChain, checkEvents } from './check-events.ts';
import { checkGenerations } from './check-generations.ts';
import { checkNumbers } from './check-numbers.ts';
import { checkReads } from './check-reads.ts';
import { checkRefused } from './check-refused.ts';
import { checkStreams } from './check-streams.ts';
import { checkUnresolved } from './check-unresolved.ts';
import { toDeeds } from './deeds.ts';
import type { Check, Fault, PackageHistory } from './fault.ts';
import type { FinalPackage, FinalState } from './final-state.ts';
import type { Call } from './record.ts';
import type { Subscriber } from './stream-record.ts';
import { followEvents, packageOf } from './timeline.ts';

/** What every package must pass; C8 is about whoever follows many of them. */
const checks: readonly Check[] = [
  checkNumbers, // C1
  checkAcknowledged, // C2
  checkRefused, // C3
  checkReads, // C4
  checkGenerations, // C5
  checkBytes, // C6
  checkEvents, // C7
  checkUnresolved, // C9
];

/**
 * Holds what clients were answered against what the database holds at the end, and tells everything that cannot be
 * (`reliability.md` 3.5). Pure. Packages are judged one by one; `lagMs` is what a read may lag behind an answer that
 * another process gave, nothing unless told; `streams`: who followed, and what they were told.
 */
export function checkHistory(
  calls: readonly Call[],
  state: FinalState,
  { lagMs = 0, streams = [] }: HistoryOptions = {},
): Fault[] {
  const kept = new Map(state.packages.map((entry) => [entry.name, entry]));
  const events = Map.groupBy(state.events, packageOf);
  const asked = Map.groupBy(calls, (call) => call.package);
  const names = new Set([...kept.keys(), ...asked.keys(), ...events.keys()]);
  const histories = [...names].flatMap((name): PackageHistory[] => {
    if (name === null) return [];
    const own = asked.get(name) ?? [];
    const final = kept.get(name) ?? nothingOf(name);
    const timeline = followEvents(events.get(name) ?? []);
    return [{ name, calls: own, deeds: toDeeds(own), final, timeline, lagMs }];
  });
  return [
    ...histories.flatMap((history) => checks.flatMap((check) => check(history))),
    ...checkChain(state.events),
    ...checkStreams(streams, histories, state.events.at(-1)?.sequence ?? 0),
  ];
}

interface HistoryOptions {
  readonly lagMs?: number;
  readonly streams?: readonly Subscriber[];
}

function nothingOf(name: string): FinalPackage {
  return { name, nextNumber: 1, active: null, generation: 0, held: false, versions: [] };
}
