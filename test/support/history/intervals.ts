import type { Evidence, NotYet, Reached } from './evidence.ts';
import type { PackageHistory } from './fault.ts';

/**
 * When a package can have come to each position. The order of positions is known, so a history is linearisable exactly
 * when no position must have been reached before it can have been: a matter of intervals, without a search.
 */
export interface Intervals {
  /** The earliest word that the package had come to `position` or beyond, by an answer of this process if it is named. */
  firstReached(position: number, process?: string): Reached | null;
  /** Whether the package may have stood at `position` at some moment of this span. */
  mayHaveStood(position: number, from: number, to: number): boolean;
}

export function measureIntervals(
  { reached, notYet }: Evidence,
  { timeline, lagMs }: PackageHistory,
): Intervals {
  const positions = timeline.states.length + 1;
  const all = earliestFrom(reached, positions);
  const byProcess = new Map(
    [...new Set(reached.map(({ call }) => call.process))].map((process) => {
      const here = reached.filter(({ call }) => call.process === process);
      return [process, earliestFrom(here, positions)] as const;
    }),
  );
  const latest = latestUpTo(notYet, positions, lagMs);
  return {
    firstReached: (position, process) =>
      (process === undefined ? all : byProcess.get(process))?.[position] ?? null,
    mayHaveStood: (position, from, to) =>
      (latest[position] ?? -Infinity) < to && (all[position + 1]?.at ?? Infinity) > from,
  };
}

/** For each position the earliest word of it or of a later one. */
function earliestFrom(reached: readonly Reached[], positions: number): (Reached | null)[] {
  const earliest: (Reached | null)[] = Array.from({ length: positions }, () => null);
  for (const word of reached) {
    const known = earliest[word.position];
    if (!known || word.at < known.at) earliest[word.position] = word;
  }
  for (let position = positions - 2; position >= 0; position -= 1) {
    const [here, later] = [earliest[position] ?? null, earliest[position + 1] ?? null];
    if (later !== null && (here === null || later.at < here.at)) earliest[position] = later;
  }
  return earliest;
}

/** For each position the latest moment at which it, or an earlier one, had not been reached. */
function latestUpTo(notYet: readonly NotYet[], positions: number, lagMs: number): number[] {
  const latest = Array.from({ length: positions }, () => -Infinity);
  for (const { position, at, maySayOld } of notYet) {
    latest[position] = Math.max(latest[position] ?? -Infinity, maySayOld ? at - lagMs : at);
  }
  for (let position = 1; position < positions; position += 1) {
    latest[position] = Math.max(latest[position] ?? -Infinity, latest[position - 1] ?? -Infinity);
  }
  return latest;
}
