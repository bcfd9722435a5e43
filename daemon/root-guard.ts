import type { DaemonCondition, RootState } from '../src/core/daemon-condition.ts';
import {
  expectAnew,
  nextRoot,
  type RootMemory,
  type RootSight,
  type RootTrouble,
} from '../src/core/root-guard.ts';
import type { Clock } from './clock.ts';
import type { RootEyes } from './watched-source.ts';

/** The root has come into another state. */
export interface RootChange {
  /** Null at the first observation. */
  readonly from: RootState | null;
  readonly to: RootState;
  readonly trouble: RootTrouble | null;
  /** Whether it has been missing since it was last `ok`. */
  readonly lost: boolean;
  /** Whether it is another folder than the one that was last `ok`. */
  readonly exchanged: boolean;
  /** Device and inode of the folder that is `ok` now; null in every other state. */
  readonly identity: string | null;
}

/** What a look must know of the root before it reads and before it concludes. */
export interface RootGate {
  readonly state: RootState;
  readonly trouble: RootTrouble | null;
  /** Device and inode of the root that is `ok`. */
  readonly identity: string | null;
  /** Waits out `suspect` and `returned`, which are short; null when nobody is going to say any more. */
  settled(): Promise<RootState | null>;
  /** An observation that begins after this call; false where it came to nothing. */
  look(): Promise<boolean>;
}

export interface RootGuardOptions extends Omit<RootEyes, 'see'> {
  readonly see: () => Promise<RootSight>;
  readonly clock: Clock;
  readonly onChange: (change: RootChange) => void;
  /** An observation failed for a reason of this process. */
  readonly onError: (error: unknown) => void;
}

/** Milliseconds from one observation to the next at most while the root is not well. */
const unwellMs = 5000;

/** Of the time, at most a tenth goes into observing, however many files there are. */
const restFactor = 9;

/** Questions in a row without an answer, some fifteen seconds of a folder, after which the root counts as out of reach (F58). */
const mostUnanswered = 5;

/**
 * Keeps an eye on the source's root, so that a root that is lost is never taken for deleted files (F50; `watching.md` 3.4).
 * `core/root-guard` decides; this gives it eyes, time and a voice.
 */
export class RootGuard implements RootGate {
  readonly #options: RootGuardOptions;
  #memory: RootMemory | null = null;
  #last: Promise<boolean> = Promise.resolve(true);
  #next: Promise<boolean> | null = null;
  #changed = Promise.withResolvers<void>();
  #stopped = false;
  #tookMs = 0;
  /** Whether an observation is under way. */
  #asking = false;
  #unanswered = 0;

  constructor(options: RootGuardOptions) {
    this.#options = options;
  }

  get state(): RootState {
    return this.#memory?.state ?? 'ok';
  }

  get trouble(): RootTrouble | null {
    return this.state === 'ok' ? null : (this.#memory?.trouble ?? null);
  }

  get identity(): string | null {
    return this.state === 'ok' ? (this.#memory?.good?.identity ?? null) : null;
  }

  get condition(): Pick<DaemonCondition, 'root' | 'rootMessage'> {
    return { root: this.state, rootMessage: this.trouble?.message ?? null };
  }

  async settled(): Promise<RootState | null> {
    while (!this.#stopped && (this.state === 'suspect' || this.state === 'returned')) {
      await this.#changed.promise;
    }
    return this.#stopped ? null : this.state;
  }

  /** Where the file system does not answer in time, nothing is known that was not known before. */
  async look(): Promise<boolean> {
    this.#next ??= this.#last.then(() => {
      this.#next = null;
      this.#last = this.#observe();
      return this.#last;
    });
    const patience = new AbortController();
    const enough = this.#options.clock.sleep(this.#options.answerMs, patience.signal).then(
      () => false,
      () => false, // Cut short.
    );
    const answered = await Promise.race([this.#next, enough]);
    patience.abort();
    return answered;
  }

  /** Observes until told to stop; whoever waits is let go then. */
  async watchForever(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#options.clock.sleep(this.#pauseMs(), signal).catch(() => undefined);
      if (!signal.aborted) this.#judgeAnswer(await this.look());
    }
    this.#stopped = true;
    this.#tellWaiting();
  }

  /** The registry lists other files now. */
  expectAnew(): void {
    if (this.#memory !== null) this.#memory = expectAnew(this.#memory);
  }

  /** A root that does not answer for long is lost like one that is not there; an error of this process is not. */
  #judgeAnswer(answered: boolean): void {
    this.#unanswered = !answered && this.#asking ? this.#unanswered + 1 : 0;
    if (this.#unanswered < mostUnanswered) return;
    const { path } = this.#options;
    this.#take({ path, folder: 'absent', code: 'ETIMEDOUT', place: null, files: new Map() });
  }

  #pauseMs(): number {
    const { everyMs } = this.#options;
    const wanted = this.state === 'ok' ? everyMs : Math.min(everyMs, unwellMs);
    const usual = Math.max(wanted, restFactor * this.#tookMs);
    if (this.#memory?.state !== 'suspect') return usual;
    return Math.min(usual, this.#memory.lookAgainAt - this.#options.clock.now());
  }

  /** Never throws. */
  async #observe(): Promise<boolean> {
    const { see, clock, onError } = this.#options;
    const began = clock.now();
    this.#asking = true;
    try {
      const sight = await see();
      // One that has answered late at last is not left alone for nine times as long.
      this.#tookMs = this.#unanswered > 0 ? 0 : clock.now() - began;
      this.#take(sight);
      return true;
    } catch (error) {
      onError(error);
      return false;
    } finally {
      this.#asking = false;
    }
  }

  #take(sight: RootSight): void {
    const before = this.#memory;
    const after = nextRoot(before, sight, this.#options.clock.now());
    this.#memory = after;
    if (before?.state === after.state) return;
    this.#options.onChange(changeOf(before, after));
    this.#tellWaiting();
  }

  #tellWaiting(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers<void>();
  }
}

function changeOf(before: RootMemory | null, after: RootMemory): RootChange {
  const isOk = after.state === 'ok';
  const knownPlace = before?.good?.place;
  return {
    from: before?.state ?? null,
    to: after.state,
    trouble: isOk ? null : after.trouble,
    lost: after.lost || (before?.lost ?? false),
    exchanged: isOk && knownPlace !== undefined && knownPlace !== after.good?.place,
    identity: isOk ? (after.good?.identity ?? null) : null,
  };
}
