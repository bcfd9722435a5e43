import { setTimeout as sleep } from 'node:timers/promises';
import { routineUnitsPerMinute } from '../../core/resync-pace.ts';

/** Lets work of a minute through at once, and after that as much as a minute brings anew. */
export class UnitBudget {
  readonly #now: () => number;
  readonly #signal: AbortSignal;
  /** When everything that was let through so far will have been earned, milliseconds of the clock. */
  #earnedAt = 0;

  /** `now`: milliseconds of a monotonic clock. Waiting ends with an error when the signal aborts. */
  constructor(signal: AbortSignal, now: () => number = () => performance.now()) {
    this.#signal = signal;
    this.#now = now;
  }

  /** Resolves when this many units may be used. */
  async take(units: number): Promise<void> {
    const now = this.#now();
    const waitMs = Math.max(0, this.#earnedAt - now - 60_000);
    this.#earnedAt = Math.max(now, this.#earnedAt) + (units * 60_000) / routineUnitsPerMinute;
    if (waitMs > 0) await sleep(waitMs, undefined, { signal: this.#signal });
  }
}
