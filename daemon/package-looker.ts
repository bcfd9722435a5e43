import { backOffMs } from '../src/core/back-off.ts';
import { SourceError } from '../src/core/errors.ts';
import type { Finding } from '../src/core/finding.ts';
import type { PackageLook } from '../src/core/look.ts';
import { lookPrint } from '../src/core/look-print.ts';
import { quietWindow, type SettleHint, type SettleTimes } from '../src/core/settle-window.ts';
import { suspicionWaitsMs } from '../src/core/suspicion.ts';
import type { LookTrigger, OpenLook } from '../src/operations/refresh-knowledge.ts';
import { Aftershock } from './aftershock.ts';
import type { Clock } from './clock.ts';
import { LookAgain, NothingToLookAt } from './look-endings.ts';
import { sleepUntil } from './pause.ts';

/** What a package's looker can do to the world; the daemon binds it to one package. */
export interface LookSteps {
  /** Waits until there is a point in looking; true when it had to. */
  ready(): Promise<boolean>;
  /** Takes waiting requests and draws the ticket; everything read afterwards may answer them. */
  open(): Promise<OpenLook>;
  look(withContent: boolean): Promise<PackageLook>;
  /** True when the store holds what this look saw, so that no quiet time is needed to say so. */
  isKnown(look: PackageLook): Promise<boolean>;
  /** Whether a look with content saw what a file is while it is being written. */
  isHalfWritten(look: PackageLook): Promise<boolean>;
  /** Makes of the look what it comes to; the number of the version that it made, or null. */
  finish(found: FoundLook): Promise<number | null>;
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
  /** The number of the version before, where this look shows that it may lack half of one change. */
  readonly possiblyTorn: number | null;
}

/** Hints that something did change; the others only ask, and must not keep a package from ever being quiet. */
const tellsOfChange: ReadonlySet<LookTrigger> = new Set(['watch', 'sweep', 'registry']);

/** A database that is back is not to be waited for much longer. */
const mostRetryMs = 5000;

/** Milliseconds after which a source that asks for it is asked again. One that has been waited for already is not. */
const retryDelaysMs = [200, 1000, 3000];

/**
 * Looks at one package whenever something hints that it may have changed, one look at a time: a hint during a look
 * means one more look, any number of them means the same. What it captures has been read twice with equal checksums, the
 * quiet time apart (G9); what looks half written has been read again for some seconds more (`watching.md` 3.2).
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
  /** The print of content that looked half written and stayed as it was for as long as that is given. */
  #outwaited: string | null = null;
  /** When the last pass began to read: what was hinted before is in it. */
  #readAt = 0;
  readonly #aftershock = new Aftershock();
  /** The requests that the look under way is going to answer. */
  readonly #attempts = new Map<string, OpenLook['attempts'][number]>();
  /** Looks in a row that an error of ours has ended. */
  #failures = 0;
  #isRetryDue = false;
  readonly #stop = new AbortController();

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
    if (this.#stop.signal.aborted) return;
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

  /** Takes no more hints and waits for the look under way; one that waits for files to be still is given up. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.idle();
  }

  async #run(): Promise<void> {
    while (this.#trigger !== null && !this.#stop.signal.aborted) {
      const trigger = this.#trigger;
      this.#trigger = null;
      await this.#settle(trigger);
      this.#hints = this.#trigger === null ? [] : this.#hints.filter((hint) => hint.at >= this.#readAt);
    }
  }

  /** After an error of ours, such as a database that is away: what was hinted has not been looked at yet. */
  #tryAgainLater(trigger: LookTrigger): void {
    if (this.#isRetryDue) return;
    this.#isRetryDue = true;
    const delayMs = Math.min(backOffMs(this.#failures), mostRetryMs);
    this.#failures += 1;
    void this.#hintLater(trigger, delayMs);
  }

  async #hintLater(trigger: LookTrigger, delayMs: number): Promise<void> {
    await sleepUntil(this.#clock, delayMs, this.#stop.signal);
    this.#isRetryDue = false;
    this.hint(trigger);
  }

  /** Passes until two of them agree, the quiet time apart, or the cap is reached. */
  async #settle(trigger: LookTrigger): Promise<void> {
    try {
      // Hints that had to wait count from when the wait was over.
      if (await this.#steps.ready())
        this.#hints = this.#hints.map((hint) => ({ ...hint, at: this.#clock.now() }));
      let before = await this.#pass(false);
      let changedAt = this.#clock.now();
      const started = this.#hints[0]?.at ?? changedAt;
      let settled = before.print === this.#concluded || (await this.#steps.isKnown(before.look));
      for (;;) {
        const wait = settled ? noWait : await this.#waitForQuiet(changedAt, started);
        const found = await this.#pass(true);
        if (wait.atCap) {
          const still = await this.#isStill(found.print);
          if (still) return await this.#conclude(found, trigger, [possiblyTorn], null);
          return await this.#steps.giveUp([...this.#attempts.values()]);
        }
        let last = found;
        if (found.print === before.print) {
          last = settled ? found : await this.#outwait(found);
          if (last.print === found.print) return await this.#conclude(last, trigger, [], wait.file);
        }
        before = last;
        changedAt = this.#clock.now();
        settled = false;
      }
    } catch (error) {
      if (error instanceof LookAgain) this.#trigger ??= trigger;
      else if (!(error instanceof NothingToLookAt)) this.#tryAgainLater(trigger);
      await this.#steps.abandon([...this.#attempts.values()], error);
    } finally {
      this.#attempts.clear();
    }
  }

  /** `fastFile`: the one file that the short wait was for; null after any other. */
  async #conclude(
    found: Pass,
    trigger: LookTrigger,
    extraWarnings: readonly Finding[],
    fastFile: string | null,
  ): Promise<void> {
    const number = await this.#limit(() =>
      this.#steps.finish({
        open: found.open,
        look: found.look,
        trigger,
        extraWarnings,
        possiblyTorn: this.#aftershock.findTorn(this.#hints, found.look),
      }),
    );
    this.#concluded = found.print;
    this.#failures = 0;
    const at = this.#clock.now();
    if (number !== null) this.#aftershock.remember({ number, look: found.look, at, file: fastFile });
  }

  /** Reads content that looks half written again and again, until it changes or has had its time. */
  async #outwait(found: Pass): Promise<Pass> {
    if (found.print === this.#outwaited || !(await this.#steps.isHalfWritten(found.look))) return found;
    let last = found;
    for (const waitMs of suspicionWaitsMs) {
      await this.#wait(waitMs);
      last = await this.#pass(true);
      if (last.print !== found.print) return last;
    }
    this.#outwaited = found.print;
    return last;
  }

  /** Sleeps until the package has been quiet long enough, or never was before the cap. */
  async #waitForQuiet(changedAt: number, started: number): Promise<Wait> {
    const cap = started + this.#times.capMs;
    for (;;) {
      const now = this.#clock.now();
      const { until, burst } = quietWindow(this.#hints, changedAt, this.#times, this.#aftershock.before);
      if (now >= cap) return { atCap: true, file: null };
      if (now >= until) return { atCap: false, file: burst ? null : this.#fastFile() };
      await this.#wait(Math.min(until, cap) - now);
    }
  }

  /** The one file that was hinted at, where the wait for one is shorter than for several. */
  #fastFile(): string | null {
    if (this.#times.quietMs >= this.#times.burstMs) return null;
    return this.#hints.at(-1)?.file ?? null;
  }

  /** Sleeps, or gives the look back where the daemon ends meanwhile (F13). */
  async #wait(ms: number): Promise<void> {
    await sleepUntil(this.#clock, ms, this.#stop.signal);
    if (this.#stop.signal.aborted) throw new LookAgain();
  }

  /** At the cap the two passes are made back to back. */
  async #isStill(print: string): Promise<boolean> {
    return (await this.#pass(false)).print === print;
  }

  async #pass(withContent: boolean): Promise<Pass> {
    return this.#limit(async () => {
      // What was hinted before this pass is read by it; what is hinted from here on needs another look.
      this.#trigger = null;
      this.#readAt = this.#clock.now();
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
        // A source that is closed with this daemon says nothing of the package.
        if (this.#stop.signal.aborted) throw new LookAgain();
        if (delayMs === null || error.next !== 'retry') {
          return { root: 'trouble', code: 'unreadable', message: error.message };
        }
        await this.#wait(delayMs);
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

interface Wait {
  readonly atCap: boolean;
  readonly file: string | null;
}

const noWait: Wait = { atCap: false, file: null };

const possiblyTorn: Finding = {
  code: 'possibly_torn',
  relativePath: null,
  line: null,
  message:
    'The files kept changing for as long as this environment waits; two readings in a row agreed at the end.',
};
