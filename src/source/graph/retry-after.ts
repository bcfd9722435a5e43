/** Nobody is made to wait longer than this at a time (F62). */
export const longestWaitMs = 15 * 60_000;

/**
 * How long the service asks to wait, milliseconds: seconds, also a fraction, or a date (T4). Null where it says nothing
 * readable; less than nothing is none, and an absurd time is cut.
 */
export function readRetryAfter(text: string | undefined, nowMs: number): number | null {
  const value = text?.trim() ?? '';
  if (/^[+-]?\d+(?:\.\d+)?$/.test(value)) return clamp(Number(value) * 1000);
  // A bare number is no date, whatever a lenient reader makes of it.
  const date = /[a-z]/i.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(date) ? null : clamp(date - nowMs);
}

function clamp(ms: number): number {
  return Math.min(longestWaitMs, Math.max(0, ms));
}
