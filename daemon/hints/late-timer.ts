import type { Clock } from '../clock.ts';
import { sleepUntil } from '../pause.ts';

const everyMs = 1000;

/** A timer this late means that the machine slept, or that this process was kept from running. */
const lateMs = 5000;

/**
 * Tells whenever time has passed that this process saw nothing of: what happened in it may have been missed. Both clocks
 * are compared, for the monotonic one stands still while a Linux machine sleeps.
 */
export async function watchForLateness(options: {
  readonly clock: Clock;
  /** Milliseconds of the time of day. */
  readonly timeOfDay: () => number;
  readonly signal: AbortSignal;
  readonly onLate: (ms: number) => void;
}): Promise<void> {
  const { clock, timeOfDay, signal } = options;
  while (!signal.aborted) {
    const before = { monotonic: clock.now(), ofDay: timeOfDay() };
    await sleepUntil(clock, everyMs, signal);
    const passed = Math.max(clock.now() - before.monotonic, timeOfDay() - before.ofDay);
    if (!signal.aborted && passed - everyMs > lateMs) options.onLate(passed - everyMs);
  }
}
