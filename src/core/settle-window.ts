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
  /** Whether it was about none of the package's own files, by its name: such hints move the window on only so far. */
  readonly aside?: boolean;
}

/** Two listed files that change within this time are taken for one change of several. */
const burstWithinMs = 2000;

/** A version that was captured after the short wait for a single file: more of the same change may follow. */
export interface FastCapture {
  /** When it was captured, milliseconds of the same clock. */
  readonly at: number;
  /** The one file that had changed. */
  readonly file: string;
}

/** When the package may be read for capture, and whether that was the long wait. */
export interface QuietWindow {
  /** The end of the quiet time after the last hint, or the cap. */
  readonly until: number;
  readonly burst: boolean;
}

/**
 * How long to wait for quiet after these hints, the last pass that saw a change, and the capture before (its aftershock).
 * What happens beside the package widens the window and moves it on by one burst at most: a folder that others keep
 * writing into must not keep the package from ever being quiet.
 */
export function quietWindow(
  hints: readonly SettleHint[],
  changedAt: number,
  times: SettleTimes,
  before: FastCapture | null = null,
): QuietWindow {
  const own = hints.filter((hint) => hint.aside !== true);
  const lastOwn = Math.max(changedAt, ...own.map((hint) => hint.at));
  const last = Math.min(Math.max(lastOwn, ...hints.map((hint) => hint.at)), lastOwn + times.burstMs);
  const first = Math.min(changedAt, ...hints.map((hint) => hint.at));
  const recent = hints.filter((hint) => last - hint.at <= burstWithinMs);
  const files = new Set(recent.flatMap((hint) => hint.file ?? []));
  const burst =
    files.size > 1 || recent.some((hint) => hint.burst) || aftershockFiles(hints, before).length > 0;
  return { until: Math.min(last + (burst ? times.burstMs : times.quietMs), first + times.capMs), burst };
}

/**
 * The listed files that changed so soon after a fast capture of another one that both may have been one change, captured
 * between its two saves.
 */
export function aftershockFiles(hints: readonly SettleHint[], before: FastCapture | null): string[] {
  if (before === null) return [];
  const soon = hints.filter((hint) => hint.at - before.at <= burstWithinMs);
  return soon.flatMap((hint) => hint.file ?? []).filter((file) => file !== before.file);
}
