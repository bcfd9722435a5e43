import { checkAcknowledged } from './check-acknowledged.ts';
import { checkBytes } from './check-bytes.ts';
import { checkChain, checkEvents } from './check-events.ts';
import { checkGenerations } from './check-generations.ts';
import { checkNumbers } from './check-numbers.ts';
import { checkReads } from './check-reads.ts';
import { checkRefused } from './check-refused.ts';
import { checkUnresolved } from './check-unresolved.ts';
import { toDeeds } from './deeds.ts';
import type { Check, Fault, PackageHistory } from './fault.ts';
import type { FinalPackage, FinalState } from './final-state.ts';
import type { Call } from './record.ts';
import { followEvents, packageOf } from './timeline.ts';

/** What every package must pass. C8, about streams, takes its place here. */
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
 * another process gave, nothing unless told.
 */
export function checkHistory(
  calls: readonly Call[],
  state: FinalState,
  { lagMs = 0 }: { readonly lagMs?: number } = {},
): Fault[] {
  const kept = new Map(state.packages.map((entry) => [entry.name, entry]));
  const events = Map.groupBy(state.events, packageOf);
  const asked = Map.groupBy(calls, (call) => call.package);
  const names = new Set([...kept.keys(), ...asked.keys(), ...events.keys()]);
  const faults = [...names].flatMap((name) => {
    if (name === null) return [];
    const own = asked.get(name) ?? [];
    const history: PackageHistory = {
      name,
      calls: own,
      deeds: toDeeds(own),
      final: kept.get(name) ?? nothingOf(name),
      timeline: followEvents(events.get(name) ?? []),
      lagMs,
    };
    return checks.flatMap((check) => check(history));
  });
  return [...faults, ...checkChain(state.events)];
}

function nothingOf(name: string): FinalPackage {
  return { name, nextNumber: 1, active: null, generation: 0, held: false, versions: [] };
}
