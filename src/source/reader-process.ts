import { fork, type ChildProcess } from 'node:child_process';
import { SourceError } from '../core/errors.ts';
import { LookCollector, type LocalLook, type LookRequest, type LookStep } from './look-steps.ts';

/** How long a reader may take, in milliseconds. */
export interface ReaderDeadlines {
  /** Without a sign of progress: about one file (W27). */
  readonly stuckMs: number;
  /** For a whole look. */
  readonly lookMs: number;
  /** From its start to its first sign of life. */
  readonly startMs: number;
}

export interface ReaderStatus {
  /** Null where the system could not start it. */
  readonly processId: number | null;
  /** `gone`: killed or ended; it takes no more looks, though the system may not have let go of it yet. */
  readonly state: 'starting' | 'idle' | 'busy' | 'gone';
}

/** What the child says. */
export type FromReader =
  | { readonly kind: 'ready' }
  | LookStep
  | { readonly kind: 'failed'; readonly next: SourceError['next']; readonly message: string };

/** The reader ended by itself in the middle of a look: the look may be tried once more elsewhere. */
export class ReaderDied extends Error {
  override readonly name = 'ReaderDied';
}

interface Look {
  readonly request: LookRequest;
  readonly collector: LookCollector;
  readonly timers: readonly NodeJS.Timeout[];
  readonly resolve: (look: LocalLook) => void;
  readonly reject: (error: Error) => void;
}

/**
 * One child process that reads files, seen from its parent: one look at a time, killed when it does not come forward.
 * It has the parent's user and of its environment only PATH: no address, no secret (T30).
 *
 * `onChange` is called whenever `state` has changed, and once more when the process has ended.
 */
export class ReaderProcess implements ReaderStatus {
  readonly #child: ChildProcess;
  readonly #deadlines: ReaderDeadlines;
  readonly #onChange: () => void;
  readonly #starting: NodeJS.Timeout;
  #look: Look | null = null;
  /** Grows with every message, so that a late timer can tell a stuck child from a busy parent. */
  #heard = 0;
  state: ReaderStatus['state'] = 'starting';
  wasReady = false;
  hasExited = false;

  constructor(deadlines: ReaderDeadlines, onChange: () => void) {
    this.#deadlines = deadlines;
    this.#onChange = onChange;
    this.#child = fork(new URL('./reader-child.ts', import.meta.url), [], {
      execPath: process.execPath,
      execArgv: [],
      env: { PATH: process.env['PATH'] },
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    this.#starting = setTimeout(() => this.kill(), deadlines.startMs);
    this.#child.on('message', (message: FromReader) => this.#hear(message));
    this.#child.on('error', () => this.kill());
    this.#child.on('exit', () => this.#exited());
  }

  get processId(): number | null {
    return this.#child.pid ?? null;
  }

  /**
   * Reads one look; only while `state` is `idle`.
   *
   * A file that does not answer is `unreadable` in it. Throws `SourceError`: `wait` where the root does not answer,
   * `retry` where the look took too long or the child says so; `ReaderDied` where the child ended.
   */
  look(request: LookRequest): Promise<LocalLook> {
    this.#become('busy');
    return new Promise((resolve, reject) => {
      const { stuckMs, lookMs } = this.#deadlines;
      const timers = [
        setTimeout(() => this.#suspect(), stuckMs),
        setTimeout(() => this.#giveUp(() => this.#tooLong()), lookMs),
      ];
      this.#look = { request, collector: new LookCollector(request), timers, resolve, reject };
      // A channel that has just closed is told by the exit that follows.
      this.#child.send(request, () => {});
    });
  }

  /** Ends the process at once, whatever it is doing; a look under way fails with `ReaderDied`. */
  kill(): void {
    this.#child.kill('SIGKILL');
    // Where the system cannot end it, it must not keep this process from ending.
    this.#child.unref();
    this.#child.channel?.unref();
    this.#leave();
  }

  #hear(message: FromReader): void {
    this.#heard += 1;
    if (message.kind === 'ready') return this.#ready();
    const look = this.#look;
    if (look === null) return;
    look.timers[0]?.refresh();
    if (message.kind === 'failed') {
      return this.#finish(() => look.reject(new SourceError(message.next, message.message)));
    }
    const whole = look.collector.take(message);
    if (whole !== null) this.#finish(() => look.resolve(whole));
  }

  #ready(): void {
    clearTimeout(this.#starting);
    if (this.state === 'gone') return;
    this.wasReady = true;
    this.#become('idle');
  }

  #finish(answer: () => void): void {
    this.#stopTimers();
    this.#look = null;
    answer();
    this.#become('idle');
  }

  /** The time is up; but a parent that was busy itself hears what its child has said only after its timers. */
  #suspect(): void {
    const heard = this.#heard;
    setImmediate(() => {
      if (heard === this.#heard) this.#giveUp(() => this.#stuck());
    });
  }

  #giveUp(answer: () => void): void {
    if (this.#look === null) return;
    answer();
    this.kill();
  }

  #stuck(): void {
    const { stuckMs } = this.#deadlines;
    const look = this.#look;
    if (look === null) return;
    const { started, stuckAt } = look.collector;
    if (stuckAt !== null) return look.resolve(look.collector.giveUpAt(stuckAt, stuckMs));
    const what = started ? 'A folder below the root' : 'The root folder';
    look.reject(
      new SourceError('wait', `${what} did not answer within ${stuckMs} ms: ${look.request.root}.`),
    );
  }

  #tooLong(): void {
    const message = `Reading the package did not end within ${this.#deadlines.lookMs} ms.`;
    this.#look?.reject(new SourceError('retry', message));
  }

  #exited(): void {
    this.hasExited = true;
    this.#leave();
  }

  #leave(): void {
    clearTimeout(this.#starting);
    this.#stopTimers();
    // Without effect where the look has been answered.
    this.#look?.reject(new ReaderDied('A reader process ended in the middle of a look.'));
    this.#look = null;
    this.#become('gone');
  }

  #stopTimers(): void {
    this.#look?.timers.forEach((timer) => clearTimeout(timer));
  }

  #become(state: ReaderStatus['state']): void {
    this.state = state;
    this.#onChange();
  }
}
