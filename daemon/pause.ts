import type { Clock } from './clock.ts';

/** The sleep of a loop that others may cut short. A call that comes while nobody sleeps is kept for the next sleep. */
export class Pause {
  readonly #clock: Clock;
  #called = false;
  #sleeper: AbortController | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  wake(): void {
    this.#called = true;
    this.#sleeper?.abort();
  }

  /** Sleeps until the time is over (null: for ever), somebody wakes it, or the signal aborts; never throws. */
  async sleep(ms: number | null, signal: AbortSignal): Promise<void> {
    if (!this.#called && !signal.aborted) {
      const sleeper = new AbortController();
      const stop = () => sleeper.abort();
      signal.addEventListener('abort', stop);
      this.#sleeper = sleeper;
      await sleepUntil(this.#clock, ms, sleeper.signal);
      this.#sleeper = null;
      signal.removeEventListener('abort', stop);
    }
    this.#called = false;
  }
}

/** Resolves when the time is over (null: never) or the signal aborts, whichever comes first; never throws. */
export async function sleepUntil(clock: Clock, ms: number | null, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => {
    const end = () => {
      // A signal outlives the thousands of sleeps that listen to it.
      signal.removeEventListener('abort', end);
      resolve();
    };
    signal.addEventListener('abort', end);
    // A sleep that is cut short rejects, with nothing but that.
    if (ms !== null) clock.sleep(ms, signal).then(end, end);
  });
}
