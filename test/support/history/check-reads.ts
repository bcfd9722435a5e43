import { gatherEvidence, type NotYet } from './evidence.ts';
import { faultsOf, versionText, type Check, type Fault, type PackageHistory } from './fault.ts';
import { measureIntervals, type Intervals } from './intervals.ts';
import { describeCall, type Call } from './record.ts';
import { positionsOf } from './timeline.ts';

/**
 * C4: what anybody was shown was the state at some moment between question and answer (G5). Reads may lag behind the
 * answers of other processes by `lagMs`, never behind those of the process that was asked.
 */
export const checkReads: Check = (history) => {
  const evidence = gatherEvidence(history);
  const intervals = measureIntervals(evidence, history);
  return [
    ...history.calls.flatMap((call) => neverSo(history, call)),
    ...evidence.notYet.flatMap((word) => tooLate(history, intervals, word)),
    ...history.calls.flatMap((call) => wrongConflict(history, intervals, call)),
  ];
};

/** A pointer that never stood like that at any time. */
function neverSo(history: PackageHistory, call: Call): Fault[] {
  const { seen } = call.result;
  if (call.end !== 'ok' || seen === undefined) return [];
  const fault = faultsOf('C4', history);
  const [position] = positionsOf(history.timeline, seen.generation) ?? [];
  const state = position === undefined ? undefined : history.timeline.states[position];
  if (state === undefined) {
    return [fault(call, `a generation up to ${history.final.generation}`, `generation ${seen.generation}`)];
  }
  const active = history.final.versions.find(({ number }) => number === state.active);
  const checksum = active?.checksum ?? null;
  if (seen.active === state.active && seen.checksum === checksum) return [];
  const text = (number: number | null, sum: string | null) =>
    `generation ${seen.generation} with ${versionText(number)}, checksum ${sum}`;
  return [fault(call, text(state.active, checksum), text(seen.active, seen.checksum))];
}

/** Somebody had been told of a later state before this one began and saw an earlier one. */
function tooLate(history: PackageHistory, intervals: Intervals, word: NotYet): Fault[] {
  const lagMs = word.maySayOld ? history.lagMs : 0;
  const here = intervals.firstReached(word.position, word.call.process);
  const anywhere = intervals.firstReached(word.position);
  const contradicting =
    here !== null && here.at < word.at
      ? here
      : anywhere !== null && anywhere.at + lagMs < word.at
        ? anywhere
        : null;
  if (contradicting === null) return [];
  const late = (word.at - contradicting.at).toFixed(3);
  const generation = history.timeline.states[word.position]?.generation;
  const expected = `generation ${generation} or later, which ${describeCall(contradicting.call)} was told ${late} ms before it began`;
  return [faultsOf('C4', history)(word.call, expected, word.words)];
}

/** The loser of a race is told what is active, not what was or will be. */
function wrongConflict(history: PackageHistory, intervals: Intervals, call: Call): Fault[] {
  const { current } = call.result;
  if (current === undefined) return [];
  const stood = history.timeline.states.some(
    ({ active }, position) =>
      active === current && intervals.mayHaveStood(position, call.startedAt, call.endedAt),
  );
  if (stood) return [];
  const expected = 'a CONFLICT with the version active between its start and its end';
  return [faultsOf('C4', history)(call, expected, versionText(current))];
}
