/** How quiet a package must be before it is captured, in milliseconds (`interface.md` 2, `watching.md` 3.3). */
export interface SettleTimes {
  /** After a single file's change. */
  readonly quietMs: number;
  /** After anything that looks like several changes. */
  readonly burstMs: number;
  /** From the first hint on: at the cap a package is captured with a warning, or not at all. */
  readonly capMs: number;
}

export const settleTimes: Readonly<Record<'fast' | 'settled', SettleTimes>> = {
  fast: { quietMs: 60, burstMs: 400, capMs: 5000 },
  settled: { quietMs: 2000, burstMs: 2000, capMs: 15_000 },
};

/** A hint as far as settling cares: which file changed, or that something else happened around them. */
export interface SettleHint {
  /** Milliseconds of a monotonic clock. */
  readonly at: number;
  /** The listed file that changed; null for a folder, a deletion, a temporary file, a registry change, a request. */
  readonly file: string | null;
  /** Whether it smells of several changes. */
  readonly burst: boolean;
}

/** Two listed files that change within this time are taken for one change of several. */
const burstWithinMs = 2000;

/** When the package may be read for capture: the end of the quiet window after the last hint, or the cap. */
export function quietUntil(hints: readonly SettleHint[], changedAt: number, times: SettleTimes): number {
  const last = Math.max(changedAt, ...hints.map((hint) => hint.at));
  const first = Math.min(changedAt, ...hints.map((hint) => hint.at));
  const recent = hints.filter((hint) => last - hint.at <= burstWithinMs);
  const files = new Set(recent.flatMap((hint) => hint.file ?? []));
  const burst = files.size > 1 || recent.some((hint) => hint.burst);
  return Math.min(last + (burst ? times.burstMs : times.quietMs), first + times.capMs);
}
