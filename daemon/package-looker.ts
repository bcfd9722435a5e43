import { SourceError } from '../src/core/errors.ts';
import type { Finding } from '../src/core/finding.ts';
import type { PackageLook } from '../src/core/look.ts';
import { lookPrint } from '../src/core/look-print.ts';
import { quietUntil, type SettleHint, type SettleTimes } from '../src/core/settle-window.ts';
import type { LookTrigger, OpenLook } from '../src/operations/refresh-knowledge.ts';
import type { Clock } from './clock.ts';

/** What a package's looker can do to the world; the daemon binds it to one package. */
export interface LookSteps {
  /** Takes waiting requests and draws the ticket; everything read afterwards may answer them. */
  open(): Promise<OpenLook>;
  look(withContent: boolean): Promise<PackageLook>;
  /** True when the store holds what this look saw, so that no quiet time is needed to say so. */
  isKnown(look: PackageLook): Promise<boolean>;
  finish(found: FoundLook): Promise<void>;
  /** Notes that nothing was captured because the files kept changing, and gives the requests back. */
  giveUp(attempts: OpenLook['attempts']): Promise<void>;
  /** Gives the requests back after an error of ours; they are answered by the next look. */
  abandon(attempts: OpenLook['attempts'], error: unknown): Promise<void>;
}

export interface FoundLook {
  readonly open: OpenLook;
  readonly look: PackageLook;
  readonly trigger: LookTrigger;
  readonly extraWarnings: readonly Finding[];
}

/** Hints that something did change; the others only ask, and must not keep a package from ever being quiet. */
const tellsOfChange: ReadonlySet<LookTrigger> = new Set(['watch', 'sweep', 'registry']);

/** Milliseconds after which a source that could not answer is asked again. */
const retryDelaysMs = [200, 1000, 3000];

/**
 * Looks at one package whenever something hints that it may have changed, one look at a time: a hint during a look
 * means one more look, any number of them means the same. What it captures has been read twice with equal checksums, the
 * quiet time apart (G9).
 */
export class PackageLooker {
  readonly #steps: LookSteps;
  readonly #times: SettleTimes;
  readonly #clock: Clock;
  readonly #limit: <T>(work: () => Promise<T>) => Promise<T>;
  #hints: SettleHint[] = [];
  #trigger: LookTrigger | null = null;
  #running: Promise<void> | null = null;
  /** The print of the last look that came to a conclusion: seeing it again needs no quiet time. */
  #concluded: string | null = null;
  /** The requests that the look under way is going to answer. */
  readonly #attempts = new Map<string, OpenLook['attempts'][number]>();
  #stopped = false;

  constructor(options: {
    readonly steps: LookSteps;
    readonly times: SettleTimes;
    readonly clock: Clock;
    /** Bounds how many passes of all packages run at once; waiting does not count. */
    readonly limit: <T>(work: () => Promise<T>) => Promise<T>;
  }) {
    this.#steps = options.steps;
    this.#times = options.times;
    this.#clock = options.clock;
    this.#limit = options.limit;
  }

  /** Whether a look is under way or due. */
  get busy(): boolean {
    return this.#running !== null;
  }

  get heldAttempts(): string[] {
    return [...this.#attempts.keys()];
  }

  /** Something may have changed: go and look. */
  hint(trigger: LookTrigger, hint: Omit<SettleHint, 'at'> = { file: null, burst: false }): void {
    if (this.#stopped) return;
    if (tellsOfChange.has(trigger)) this.#hints.push({ ...hint, at: this.#clock.now() });
    this.#trigger ??= trigger;
    this.#running ??= this.#run().finally(() => {
      this.#running = null;
    });
  }

  /** Resolves when no look is under way or due. */
  async idle(): Promise<void> {
    while (this.#running) await this.#running;
  }

  /** Takes no more hints and waits for the look under way. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.idle();
  }

  async #run(): Promise<void> {
    while (this.#trigger !== null) {
      const trigger = this.#trigger;
      this.#trigger = null;
      await this.#settle(trigger);
      this.#hints = this.#trigger === null ? [] : this.#hints.slice(-1);
    }
  }

  /** Passes until two of them agree, the quiet time apart, or the cap is reached. */
  async #settle(trigger: LookTrigger): Promise<void> {
    try {
      let before = await this.#pass(false);
      let changedAt = this.#clock.now();
      const started = this.#hints[0]?.at ?? changedAt;
      let settled = before.print === this.#concluded || (await this.#steps.isKnown(before.look));
      for (;;) {
        const atCap = !settled && (await this.#waitForQuiet(changedAt, started));
        const found = await this.#pass(true);
        if (atCap) {
          const still = await this.#isStill(found.print);
          if (still) return await this.#conclude(found, trigger, [possiblyTorn]);
          return await this.#steps.giveUp([...this.#attempts.values()]);
        }
        if (found.print === before.print) return await this.#conclude(found, trigger, []);
        before = found;
        changedAt = this.#clock.now();
        settled = false;
      }
    } catch (error) {
      await this.#steps.abandon([...this.#attempts.values()], error);
    } finally {
      this.#attempts.clear();
    }
  }

  async #conclude(found: Pass, trigger: LookTrigger, extraWarnings: readonly Finding[]): Promise<void> {
    await this.#limit(() =>
      this.#steps.finish({ open: found.open, look: found.look, trigger, extraWarnings }),
    );
    this.#concluded = found.print;
  }

  /** Sleeps until the package has been quiet long enough; true when it never was before the cap. */
  async #waitForQuiet(changedAt: number, started: number): Promise<boolean> {
    const cap = started + this.#times.capMs;
    for (;;) {
      const now = this.#clock.now();
      const until = quietUntil(this.#hints, changedAt, this.#times);
      if (now >= cap) return true;
      if (now >= until) return false;
      await this.#clock.sleep(Math.min(until, cap) - now);
    }
  }

  /** At the cap the two passes are made back to back. */
  async #isStill(print: string): Promise<boolean> {
    return (await this.#pass(false)).print === print;
  }

  async #pass(withContent: boolean): Promise<Pass> {
    return this.#limit(async () => {
      // What was hinted before this pass is read by it; what is hinted from here on needs another look.
      this.#trigger = null;
      const opened = await this.#steps.open();
      for (const attempt of opened.attempts) this.#attempts.set(attempt.id, attempt);
      const look = await this.#lookPatiently(withContent);
      return { open: { ...opened, attempts: [...this.#attempts.values()] }, look, print: lookPrint(look) };
    });
  }

  async #lookPatiently(withContent: boolean): Promise<PackageLook> {
    for (const delayMs of [...retryDelaysMs, null]) {
      try {
        return await this.#steps.look(withContent);
      } catch (error) {
        if (!(error instanceof SourceError)) throw error;
        if (delayMs === null || error.next === 'stop') {
          return { root: 'trouble', code: 'unreadable', message: error.message };
        }
        await this.#clock.sleep(delayMs);
      }
    }
    throw new TypeError('The last delay is null, so the loop has returned.');
  }
}

interface Pass {
  readonly open: OpenLook;
  readonly look: PackageLook;
  readonly print: string;
}

const possiblyTorn: Finding = {
  code: 'possibly_torn',
  relativePath: null,
  line: null,
  message:
    'The files kept changing for as long as this environment waits; two readings in a row agreed at the end.',
};
