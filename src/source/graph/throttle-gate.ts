import type { GraphHabits } from './graph-habits.ts';
import { longestWaitMs, readRetryAfter } from './retry-after.ts';

/** Requests are this far apart at most while little is left (T3). */
const widestSpacingMs = 2_000;

/** Below this share of what is allowed, requests are spread over what is left of the time. */
const lowShare = 0.2;

type Headers = Readonly<Record<string, string>>;

/** The one door that every request of the process goes through, since a penalty is for the whole app (T1, F62, bug 30). */
export class ThrottleGate {
  readonly #habits: GraphHabits;
  #shutUntilMs = 0;
  #spacingMs = 0;
  #spacedUntilMs = 0;
  #nextMs = 0;

  constructor(habits: GraphHabits) {
    this.#habits = habits;
  }

  /** Until when nobody goes through; null where it is open. */
  get waitsUntil(): Date | null {
    return this.#shutUntilMs > this.#habits.now() ? new Date(this.#shutUntilMs) : null;
  }

  /** Resolves when a request may go out; rejects when the signal aborts. */
  async pass(signal: AbortSignal): Promise<void> {
    for (;;) {
      signal.throwIfAborted();
      const now = this.#habits.now();
      const waitMs = Math.max(this.#shutUntilMs, this.#nextMs) - now;
      if (waitMs <= 0) {
        if (now < this.#spacedUntilMs) this.#nextMs = now + this.#spacingMs;
        return;
      }
      await this.#habits.sleep(Math.ceil(waitMs), signal);
    }
  }

  /** Shuts the door for the whole time that was asked for, and a little longer, never shorter; a longer wait stands. */
  shut(waitMs: number): void {
    const wholeMs = Math.min(longestWaitMs, waitMs);
    const jitterMs = this.#habits.random() * Math.min(10_000, 50 + wholeMs / 10);
    this.#shutUntilMs = Math.max(this.#shutUntilMs, this.#habits.now() + wholeMs + jitterMs);
  }

  /** Reads how much is left, where an answer says it, and slows down in time. */
  heed(headers: Headers): void {
    const [limit, remaining] = [Number(headers['ratelimit-limit']), Number(headers['ratelimit-remaining'])];
    const now = this.#habits.now();
    const resetMs = readRetryAfter(headers['ratelimit-reset'], now);
    if (!(remaining >= 0) || headers['ratelimit-remaining'] === '' || resetMs === null) return;
    // Where the limit is not told, ten requests are little.
    const isLow = limit > 0 ? remaining / limit < lowShare : remaining < 10;
    this.#spacingMs = isLow ? Math.min(widestSpacingMs, resetMs / Math.max(1, remaining)) : 0;
    this.#spacedUntilMs = isLow ? now + resetMs : 0;
    if (!isLow) this.#nextMs = 0;
    else this.#nextMs = Math.max(this.#nextMs, now + this.#spacingMs);
  }
}
