import { messageOf } from '../core/errors.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { backOffMs } from '../core/back-off.ts';

/** Something that runs until it is closed, or ends by itself. */
export interface Part extends AsyncDisposable {
  /** Resolves, with a sentence, when it has ended, whoever ended it. */
  readonly ended: Promise<string>;
}

export interface SupervisorOptions<P extends Part> {
  /** What a person calls it, as a sentence begins: `The daemon`. */
  readonly name: string;
  /** Starts it again; rejects where it does not come up. It ends what it has begun when the signal comes. */
  readonly again: (signal: AbortSignal) => Promise<P>;
  /** Hears one sentence when it ended, one for each reason why it does not come back, and one when it is back. */
  readonly tell: (line: string) => void;
  /** Starts in a row that may fail; null: without end. */
  readonly maxFailures: number | null;
  /** Waits between two starts; for tests. */
  readonly pause?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** A part that has run for so long had no trouble with its start: the next pause is short again. */
const steadyMs = 60_000;

/**
 * Starts a part again whenever it ends by itself, after a pause of half a second that doubles to 30 s (`reliability.md`
 * 3.4). One that is stopped by closing the supervisor is not started again.
 */
export class Supervisor<P extends Part> implements AsyncDisposable {
  /** Resolves, with a sentence, when it has failed to come back too often; never otherwise. */
  readonly gaveUp: Promise<string>;
  readonly #options: SupervisorOptions<P>;
  readonly #stopping = new AbortController();
  readonly #keeping: Promise<void>;
  readonly #giveUp: (words: string) => void;
  #part: P | null;
  #up = Promise.withResolvers<void>();
  #attempt = 0;

  constructor(first: P, options: SupervisorOptions<P>) {
    this.#options = options;
    this.#part = first;
    this.#up.resolve();
    const { promise, resolve } = Promise.withResolvers<string>();
    this.gaveUp = promise;
    this.#giveUp = resolve;
    this.#keeping = this.#keep(first);
  }

  get isUp(): boolean {
    return this.#part !== null;
  }

  /** What runs now; null while it is away. */
  get part(): P | null {
    return this.#part;
  }

  /** Resolves when it runs: at once, or when it is back. */
  get up(): Promise<void> {
    return this.#up.promise;
  }

  /** Stops looking after it and leaves it running, also when this is closed: it is somebody else's now. */
  async letGo(): Promise<void> {
    await this.#stopKeeping();
    this.#part = null;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stopKeeping();
    await this.#part?.[Symbol.asyncDispose]();
  }

  async #stopKeeping(): Promise<void> {
    this.#stopping.abort();
    await this.#keeping;
  }

  async #keep(first: P): Promise<void> {
    const { name, tell } = this.#options;
    const { promise: stopped, resolve } = Promise.withResolvers<null>();
    this.#stopping.signal.addEventListener('abort', () => resolve(null));
    for (let part: P | null = first; part !== null;) {
      const began = performance.now();
      const words = await Promise.race([part.ended, stopped]);
      if (words === null) return;
      this.#part = null;
      this.#up = Promise.withResolvers();
      if (performance.now() - began > steadyMs) this.#attempt = 0;
      tell(`${words} It is started again.`);
      part = await this.#bringBack();
      if (part !== null && !this.#stopping.signal.aborted) tell(`${name} is back.`);
    }
  }

  /** Null where it was told to stop, or has given up. */
  async #bringBack(): Promise<P | null> {
    const { name, again, tell, maxFailures, pause = sleepUnless } = this.#options;
    const told = new Set<string>();
    for (let failures = 0; ;) {
      await pause(backOffMs(this.#attempt), this.#stopping.signal);
      if (this.#stopping.signal.aborted) return null;
      this.#attempt += 1;
      try {
        this.#part = await again(this.#stopping.signal);
        this.#up.resolve();
        return this.#part;
      } catch (error) {
        if (this.#stopping.signal.aborted) return null;
        const reason = messageOf(error);
        failures += 1;
        if (failures === maxFailures) {
          this.#giveUp(`${name} did not come back in ${failures} attempts: ${reason}`);
          return null;
        }
        // Times and process ids differ from attempt to attempt; the reason is told once.
        const kind = reason.replaceAll(/\d+/g, '');
        if (!told.has(kind)) tell(`${name} does not come back yet: ${reason}`);
        told.add(kind);
      }
    }
  }
}

async function sleepUnless(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined);
}
