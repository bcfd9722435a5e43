import type { GraphError } from './graph-error.ts';
import { GraphError as Trouble } from './graph-error.ts';
import type { GraphHabits } from './graph-habits.ts';
import type { ThrottleGate } from './throttle-gate.ts';

/** Trouble that may pass by itself. */
export class PassingTrouble extends Error {
  readonly trouble: GraphError;
  /** What the service asked for: a time, or `unsaid` where it only said that there was too much; null for any other trouble. */
  readonly wait: number | 'unsaid' | null;

  constructor(trouble: GraphError, wait: number | 'unsaid' | null = null) {
    super(trouble.message);
    this.trouble = trouble;
    this.wait = wait;
  }
}

export interface AttemptsWanted {
  readonly habits: GraphHabits;
  readonly gate: ThrottleGate;
  readonly signal: AbortSignal;
}

/** Counts of one operation: nothing is carried over to the next (bug 31). */
export class Attempts {
  #tries = 0;
  #waits = 0;
  readonly #wanted: AttemptsWanted;

  constructor(wanted: AttemptsWanted) {
    this.#wanted = wanted;
  }

  /**
   * Waits before the next attempt. Everybody waits where the service asked for it, else only this operation, longer each time
   * and by chance (bug 34). Throws the trouble where it has lasted too long.
   */
  async again({ trouble, wait }: PassingTrouble): Promise<void> {
    const { habits, gate, signal } = this.#wanted;
    if (wait === null) {
      this.#tries += 1;
      if (this.#tries >= habits.tries) throw trouble;
      await habits.sleep(Math.ceil(habits.random() * this.#backoffMs(this.#tries)), signal);
      return;
    }
    this.#waits += 1;
    gate.shut(wait === 'unsaid' ? this.#backoffMs(this.#waits) : wait);
    if (this.#waits <= habits.waits) return;
    const { message, status, codes, requestId } = trouble;
    throw new Trouble('throttled', message, { status, codes, requestId });
  }

  #backoffMs(count: number): number {
    const { backoffMs, longestBackoffMs } = this.#wanted.habits;
    return Math.min(longestBackoffMs, backoffMs * 2 ** (count - 1));
  }
}

/** Makes attempts, each through the gate, until one succeeds or its trouble does not pass. */
export async function attempt<Result>(wanted: AttemptsWanted, once: () => Promise<Result>): Promise<Result> {
  const attempts = new Attempts(wanted);
  for (;;) {
    await wanted.gate.pass(wanted.signal);
    try {
      return await once();
    } catch (error) {
      if (!(error instanceof PassingTrouble)) throw error;
      await attempts.again(error);
    }
  }
}
