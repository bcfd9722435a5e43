import { SourceError } from '../core/errors.ts';
import type { LocalLook, LookRequest } from './look-steps.ts';
import { ReaderDied, ReaderProcess, type ReaderDeadlines, type ReaderStatus } from './reader-process.ts';

export interface ReaderPoolLimits extends ReaderDeadlines {
  /** Processes kept warm: one to read, and a spare while a stuck one is waited for. */
  readonly readers: number;
  /** Looks that may wait for a free reader. */
  readonly maxWaiting: number;
  /** Killed processes the system has not let go of (a disk that never answers), past which no new one is started. */
  readonly maxLingering: number;
}

const usualLimits: ReaderPoolLimits = {
  readers: 2,
  maxWaiting: 200,
  maxLingering: 8,
  stuckMs: 2_000,
  lookMs: 60_000,
  startMs: 30_000,
};

interface Waiting {
  readonly request: LookRequest;
  readonly isSecondTry: boolean;
  readonly resolve: (look: LocalLook) => void;
  readonly reject: (error: Error) => void;
}

/**
 * A few warm reader processes: a look goes to an idle one, or waits its turn. Forking takes some 200 ms, a warm
 * round trip well under one (design 10).
 *
 * A reader that is stuck is killed and replaced; a look whose reader ends by itself is tried once on another one.
 * Closing ends every process and fails every look with `SourceError` `stop`.
 */
export class ReaderPool implements AsyncDisposable {
  readonly #limits: ReaderPoolLimits;
  readonly #readers = new Set<ReaderProcess>();
  readonly #waiting: Waiting[] = [];
  #whenEmpty: (() => void) | null = null;

  constructor(limits: Partial<ReaderPoolLimits> = {}) {
    this.#limits = { ...usualLimits, ...limits };
    this.#start();
  }

  /** The processes that take looks, for a report of health; killed ones the system still holds are not among them. */
  get readers(): readonly ReaderStatus[] {
    return this.#alive.map(({ processId, state }) => ({ processId, state }));
  }

  /**
   * What the request's root holds now.
   *
   * Throws `SourceError`: `retry` where too many looks wait, a reader ended twice or files keep changing; `wait` where
   * the root does not answer; `stop` after closing.
   */
  look(request: LookRequest): Promise<LocalLook> {
    if (this.#whenEmpty !== null) return Promise.reject(closed());
    if (this.#waiting.length >= this.#limits.maxWaiting) {
      return Promise.reject(
        new SourceError('retry', `${this.#waiting.length} looks wait for a reader already.`),
      );
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ request, isSecondTry: false, resolve, reject });
      // Here too, and not only when one ends: where readers cannot be started each look is a new try, and no loop is.
      this.#start();
      this.#turn();
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#whenEmpty !== null) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#whenEmpty = resolve;
    this.#failWaiting(closed());
    for (const reader of this.#readers) reader.kill();
    this.#turn();
    // A process in the hands of a dead disk may outlive its kill; it is left to the system.
    const patience = setTimeout(resolve, lingerMs);
    await promise;
    clearTimeout(patience);
  }

  get #alive(): readonly ReaderProcess[] {
    return [...this.#readers].filter((reader) => reader.state !== 'gone');
  }

  #start(): void {
    const { readers, maxLingering } = this.#limits;
    while (this.#alive.length < readers && this.#readers.size - this.#alive.length < maxLingering) {
      const reader = new ReaderProcess(this.#limits, () => this.#changed(reader));
      this.#readers.add(reader);
    }
  }

  #changed(reader: ReaderProcess): void {
    if (reader.hasExited) this.#readers.delete(reader);
    if (reader.state === 'gone' && reader.wasReady && this.#whenEmpty === null) this.#start();
    this.#turn();
  }

  /** Gives waiting looks to idle readers; safe to call at any time, also from within itself. */
  #turn(): void {
    if (this.#whenEmpty !== null && this.#readers.size === 0) return this.#whenEmpty();
    if (this.#alive.length === 0) {
      this.#failWaiting(new SourceError('wait', 'No reader process can be started.'));
    }
    for (;;) {
      // Looked up anew each time: starting a look comes back here and may have given away the next idle one.
      const reader = this.#alive.find(({ state }) => state === 'idle');
      const next = reader && this.#waiting.shift();
      if (reader === undefined || next === undefined) return;
      void this.#run(reader, next);
    }
  }

  async #run(reader: ReaderProcess, look: Waiting): Promise<void> {
    try {
      look.resolve(await reader.look(look.request));
    } catch (error) {
      if (!(error instanceof ReaderDied)) return look.reject(error as Error);
      if (this.#whenEmpty !== null) return look.reject(closed());
      if (look.isSecondTry) return look.reject(new SourceError('retry', error.message, { cause: error }));
      this.#waiting.unshift({ ...look, isSecondTry: true });
      this.#turn();
    }
  }

  #failWaiting(error: SourceError): void {
    for (const look of this.#waiting.splice(0)) look.reject(error);
  }
}

/** How long closing waits for killed processes. */
const lingerMs = 5_000;

function closed(): SourceError {
  return new SourceError('stop', 'The source is closed.');
}
