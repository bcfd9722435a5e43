import type { FSWatcher } from 'chokidar';
import type { DaemonCondition } from '../../src/core/daemon-condition.ts';
import type { Clock } from '../clock.ts';
import { Pause, sleepUntil } from '../pause.ts';
import { closeWatcher, listenTo, type OpenWatcher, type WatcherListener } from './open-watcher.ts';
import { RebuildDelay } from './rebuild-delay.ts';
import type { WatchTargets } from './watch-targets.ts';
import { describeTrouble } from './watcher-trouble.ts';

/** Where hints come from at this moment, and why not from events. */
export type WatcherCondition = Pick<DaemonCondition, 'watcher' | 'watcherMessage'>;

export interface LocalWatcherOptions extends Pick<WatcherListener, 'onEvent' | 'onRaw'> {
  readonly clock: Clock;
  readonly open: OpenWatcher;
  readonly findTargets: (folders: readonly string[]) => Promise<WatchTargets>;
  /** Why events are not to be had for these folders, as a sentence; null where they are. Asked before each build. */
  readonly whyNoEvents: () => Promise<string | null>;
  /** What happened until now may have been missed; from here on it is heard. */
  readonly onBuilt: () => void;
  /** What happens from here on may be missed. */
  readonly onTrouble: (reason: string) => void;
  readonly onCondition: (condition: WatcherCondition) => void;
  /** A part of the work failed that nobody waits for. */
  readonly onFault: (what: string, error: unknown) => void;
}

/** One watcher from its making to its end. */
interface Life {
  /** When it said that it watches. */
  readyAt: number | null;
  failed: boolean;
}

/** Milliseconds until a watcher that has not said that it watches counts as failed, and one that will not end is left. */
const readyWithinMs = 30_000;
const closedWithinMs = 5000;

/**
 * Keeps a watcher of folders alive: never of single files (a save that replaces a file would leave the watch on the old
 * one, W04). It is built anew when the folders are others, when it fails, and when it turns out to be deaf; one at a
 * time, and with a back-off. A source of hints, never of facts (`watching.md` 3.1).
 */
export class LocalWatcher {
  readonly #options: LocalWatcherOptions;
  readonly #pause: Pause;
  readonly #delay = new RebuildDelay();
  #wanted: readonly string[] = [];
  #changed = false;
  /** When the watcher is built anew though the folders are the same; null: not. */
  #rebuildAt: number | null = null;
  #print: string | null = null;
  #watcher: FSWatcher | null = null;
  #life: Life | null = null;
  #condition: WatcherCondition = { watcher: 'native', watcherMessage: null };
  /** It turned out to be deaf though it had just been built anew: it is believed when it has announced something. */
  #unproven = false;

  constructor(options: LocalWatcherOptions) {
    this.#options = options;
    this.#pause = new Pause(options.clock);
  }

  get condition(): WatcherCondition {
    return this.#condition;
  }

  /** Since when every change is to be heard; null while some may not be. */
  get hearsSince(): number | null {
    return this.#life === null || this.#life.failed ? null : this.#life.readyAt;
  }

  /** Watches exactly these folders from now on; to be called again whenever one may have come, gone or been replaced. */
  watch(folders: readonly string[]): void {
    this.#wanted = folders;
    this.#changed = true;
    this.#pause.wake();
  }

  /** Builds the watcher anew at once, for a reason that is no fault of its own. */
  rebuild(): void {
    this.#unproven = false;
    this.#rebuildAt = this.#options.clock.now();
    this.#pause.wake();
  }

  /** The watcher says nothing of changes that there were. */
  tellDeaf(reason: string): void {
    const life = this.#life;
    if (life === null || life.failed) return;
    this.#fail(life, reason);
    this.#unproven = this.#delay.isRepeated;
  }

  /** The watcher announced a change that is known to have been one. */
  tellHeard(): void {
    this.#unproven = false;
    if (this.hearsSince !== null) this.#setCondition({ watcher: 'native', watcherMessage: null });
  }

  /** Keeps watching until the signal aborts; resolves when nothing is watched any more. Never throws. */
  async keep(signal: AbortSignal): Promise<void> {
    const aborted = sleepUntil(this.#options.clock, null, signal);
    while (!signal.aborted) {
      const step = this.#step(signal).catch((error: unknown) => {
        this.#life = null;
        this.#failBuild(describeTrouble(error));
      });
      await Promise.race([aborted, step]); // A file system that hangs must not keep the daemon from ending.
      await this.#pause.sleep(this.#dueIn(), signal);
    }
    await this.#close();
  }

  #dueIn(): number | null {
    if (this.#changed) return 0;
    return this.#rebuildAt === null ? null : Math.max(0, this.#rebuildAt - this.#options.clock.now());
  }

  async #step(signal: AbortSignal): Promise<void> {
    const { clock, findTargets } = this.#options;
    const due = this.#rebuildAt;
    const rebuild = due !== null && clock.now() >= due;
    if (!rebuild && !this.#changed) return;
    this.#changed = false;
    const targets = await findTargets(this.#wanted);
    if (signal.aborted || (!rebuild && targets.print === this.#print)) return;
    if (this.#rebuildAt === due) this.#rebuildAt = null; // Else it was asked for meanwhile, of what is there now.
    this.#print = targets.print;
    await this.#close();
    await this.#build(targets.folders, signal);
  }

  async #build(targets: WatchTargets['folders'], signal: AbortSignal): Promise<void> {
    const { open, whyNoEvents } = this.#options;
    const reason = await whyNoEvents();
    if (signal.aborted) return;
    if (reason !== null) {
      this.#setCondition({ watcher: 'sweep', watcherMessage: reason });
      return;
    }
    const life: Life = { readyAt: null, failed: false };
    this.#watcher = open([...targets.keys()]);
    this.#life = life;
    listenTo(this.#watcher, targets, {
      onEvent: this.#options.onEvent,
      onRaw: this.#options.onRaw,
      onError: (error) => this.#fail(life, describeTrouble(error)),
      onReady: () => this.#ready(life),
    });
    void this.#expectReady(life, signal);
  }

  async #expectReady(life: Life, signal: AbortSignal): Promise<void> {
    await sleepUntil(this.#options.clock, readyWithinMs, signal);
    if (!signal.aborted && life.readyAt === null) this.#fail(life, notReady);
  }

  #ready(life: Life): void {
    if (life !== this.#life) return;
    life.readyAt = this.#options.clock.now();
    if (!life.failed && !this.#unproven) this.#setCondition({ watcher: 'native', watcherMessage: null });
    this.#options.onBuilt();
  }

  /** The first error of a watcher counts: it is built anew as a whole, whatever else is wrong with it. */
  #fail(life: Life, reason: string): void {
    if (life !== this.#life || life.failed) return;
    life.failed = true;
    this.#failBuild(reason);
  }

  #failBuild(reason: string): void {
    const now = this.#options.clock.now();
    this.#rebuildAt = now + this.#delay.fail(now);
    this.#setCondition({ watcher: 'degraded', watcherMessage: reason });
    this.#options.onTrouble(reason);
    this.#pause.wake();
  }

  #setCondition(condition: WatcherCondition): void {
    const { watcher, watcherMessage } = this.#condition;
    if (condition.watcher === watcher && condition.watcherMessage === watcherMessage) return;
    this.#condition = condition;
    this.#options.onCondition(condition);
  }

  async #close(): Promise<void> {
    const watcher = this.#watcher;
    this.#watcher = null;
    this.#life = null;
    if (watcher === null) return;
    const closed = new AbortController();
    const closing = closeWatcher(watcher)
      .catch((error: unknown) => this.#options.onFault('A watcher could not be closed', error))
      .finally(() => closed.abort());
    await Promise.race([closing, sleepUntil(this.#options.clock, closedWithinMs, closed.signal)]);
  }
}

const notReady = `The watcher was not ready within ${readyWithinMs / 1000} s.`;
