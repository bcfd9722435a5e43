import { messageOf } from '../../src/core/errors.ts';
import { basename, dirname, join, posix, relative, sep } from 'node:path';
import pLimit from 'p-limit';
import { readFileSystemType, type FileSystemType } from '../../src/source/file-system-type.ts';
import { Pause, sleepUntil } from '../pause.ts';
import type { HintListener, SourceHints } from '../watched-source.ts';
import { deafReason, Deafness } from './deafness.ts';
import { EventStorm } from './event-storm.ts';
import { watchForLateness } from './late-timer.ts';
import { LocalWatcher, type WatcherCondition } from './local-watcher.ts';
import { openWatcher, type OpenWatcher, type WatchEvent } from './open-watcher.ts';
import { Sweep, sweepPauseMs, type Swept } from './sweep.ts';
import { findWatchTargets, isBehindLink, isInside } from './watch-targets.ts';
import { whyNoEvents, type WatchMode } from './why-no-events.ts';

export interface LocalHintsOptions extends Omit<HintListener, 'context'> {
  readonly root: string;
  readonly sweepMs: number;
  readonly watchMode: WatchMode;
  readonly statPrint: (path: string) => Promise<string>;
  /** Milliseconds of the time of day. */
  readonly timeOfDay: () => number;
  /** The edges, which a test may take hold of. */
  readonly openWatcher?: OpenWatcher;
  readonly readFileSystemType?: (path: string) => Promise<FileSystemType>;
}

/**
 * The two quick nets over a local folder: events of a watcher, and a stat sweep that makes up for lost ones. Each knows
 * of the other: what the sweep finds tells whether the watcher is deaf, and while it fails the sweep is quicker.
 */
export class LocalHints implements SourceHints {
  readonly #options: LocalHintsOptions;
  readonly #watcher: LocalWatcher;
  readonly #sweep: Sweep;
  readonly #storm: EventStorm;
  readonly #deafness = new Deafness();
  /** The sweep's: cut short when the watcher begins or ceases to fail. */
  readonly #pause: Pause;
  /** Whatever asks the file system here takes turns, so that one that hangs takes one thread (W27). */
  readonly #oneAtATime = pLimit(1);
  #files: ReadonlySet<string> = new Set();
  #signal: AbortSignal = AbortSignal.abort();
  #told: WatcherCondition['watcher'] = 'native';

  constructor(options: LocalHintsOptions) {
    this.#options = options;
    const { clock, root, watchMode } = options;
    this.#sweep = new Sweep(options.statPrint);
    this.#pause = new Pause(clock);
    this.#storm = new EventStorm(clock, () =>
      options.onEverything('more than 1,000 events came within a second'),
    );
    this.#watcher = new LocalWatcher({
      clock,
      open: options.openWatcher ?? openWatcher,
      findTargets: (folders) => this.#oneAtATime(() => findWatchTargets(root, folders)),
      whyNoEvents: () => this.#oneAtATime(() => whyNoEvents(watchMode, () => this.#readType())),
      onEvent: (event) => this.#onEvent(event),
      onRaw: (path) => this.#onRaw(path),
      onBuilt: () => {
        this.#deafness.forget();
        options.onEverything('the watcher is ready');
      },
      onTrouble: options.onEverything,
      onCondition: (condition) => this.#onCondition(condition),
      onFault: (what, error) => options.logger.warn(what, { error: messageOf(error) }),
    });
  }

  get condition(): SourceHints['condition'] & WatcherCondition {
    return { ...this.#watcher.condition, drive: null };
  }

  /** Nobody outside knows more of a folder than the system does. */
  wake(): void {}

  /** Watches these files, named from the root, and the registry. */
  watch(files: readonly string[]): void {
    const { root, registryPath } = this.#options;
    this.#files = new Set(files.map((file) => join(root, file)));
    this.#deafness.compare([registryPath, ...this.#files]);
    this.#watcher.watch(this.#folders());
  }

  /** Builds the watcher anew at once: the folders are not what they were, though they may look it. */
  rebuild(reason: string): void {
    this.#options.logger.debug('the watcher is built anew', { reason });
    this.#watcher.rebuild();
  }

  /** Hints until the signal aborts; resolves when nothing is watched any more. */
  async run(signal: AbortSignal): Promise<void> {
    this.#signal = signal;
    const { clock, timeOfDay, onEverything } = this.#options;
    const onLate = (ms: number) => onEverything(`a timer was late by ${Math.round(ms)} ms`);
    await Promise.all([
      this.#watcher.keep(signal),
      this.#sweepForever(signal),
      watchForLateness({ clock, timeOfDay, signal, onLate }),
    ]);
  }

  async #readType(): Promise<FileSystemType | null> {
    const { root, logger, readFileSystemType: read = readFileSystemType } = this.#options;
    return read(root).catch((error: unknown) => {
      logger.warn('the file system does not say what it is', { error: messageOf(error) });
      return null;
    });
  }

  async #sweepForever(signal: AbortSignal): Promise<void> {
    const { clock, sweepMs, logger } = this.#options;
    const aborted = sleepUntil(clock, null, signal);
    for (let tookMs = 0; !signal.aborted;) {
      await this.#pause.sleep(sweepPauseMs(this.condition.watcher, sweepMs, tookMs), signal);
      if (signal.aborted) return;
      const started = clock.now();
      const sweep = this.#sweepOnce().catch((error: unknown) =>
        logger.error('the sweep failed', { error: messageOf(error) }),
      );
      await Promise.race([aborted, sweep]); // A file system that hangs must not keep the daemon from ending.
      tookMs = clock.now() - started;
    }
  }

  async #sweepOnce(): Promise<void> {
    const { root, registryPath, clock } = this.#options;
    const folders = this.#folders().filter((folder) => folder === root || isInside(root, folder));
    const paths = new Set([registryPath, ...folders, ...this.#files]);
    const swept = await this.#oneAtATime(() => this.#sweep.run([...paths], () => clock.now()));
    for (const { path } of swept.changed) {
      if (path === registryPath) await this.#options.onRegistry();
      else if (this.#files.has(path)) this.#hint(dirname(path), path, false);
      else this.#hint(path, null, true);
    }
    if (swept.first) this.#options.onEverything('the sweep sees a file for the first time');
    // A folder that has come, gone or been replaced changes what can be watched.
    if (swept.changed.length > 0) this.#watcher.watch(this.#folders());
    await this.#judge(swept);
  }

  /** Compares what the sweep found with what the watcher announced. */
  async #judge({ changed }: Swept): Promise<void> {
    const { clock, root, registryPath } = this.#options;
    const hearsSince = this.#watcher.hearsSince ?? Infinity;
    for (const { path, since } of changed) {
      const folder = path === registryPath ? dirname(path) : root;
      if (since < hearsSince || (await this.#oneAtATime(() => isBehindLink(folder, path)))) continue;
      this.#deafness.found(path, since, clock.now());
    }
    const { heard, deaf } = this.#deafness.judge(clock.now());
    if (deaf) this.#watcher.tellDeaf(deafReason);
    else if (heard) this.#watcher.tellHeard();
  }

  #onRaw(path: string | null): void {
    this.#storm.count(this.#signal);
    if (path === null) this.#options.onEverything('the system told of a change without a name');
    else this.#deafness.heard(path, this.#options.clock.now());
  }

  #onEvent(event: WatchEvent): void {
    const { root, registryPath } = this.#options;
    this.#storm.count(this.#signal);
    if (event.folders) this.#watcher.watch(this.#folders());
    if (event.path === registryPath) void this.#options.onRegistry();
    else if (event.path === root || isInside(event.path, root)) this.#hint(root, null, true);
    else if (!this.#storm.raging) {
      const listed = this.#files.has(event.path);
      const [file, burst] = [listed ? event.path : null, !(listed && event.change)];
      this.#hint(dirname(event.path), file, burst, basename(event.path));
    }
  }

  /** Tells a change of state once, however many errors it comes with (T44). */
  #onCondition({ watcher, watcherMessage: reason }: WatcherCondition): void {
    const { logger, onCondition } = this.#options;
    this.#pause.wake();
    onCondition();
    if (watcher === this.#told) return;
    this.#told = watcher;
    if (watcher === 'native') logger.info('the watcher works again');
    else if (watcher === 'sweep') logger.info('there are no events', { reason });
    else logger.warn('the watcher fails; changes are found by the sweep', { reason });
  }

  #folders(): string[] {
    const { root, registryPath } = this.#options;
    return [root, dirname(registryPath), ...[...this.#files].map((file) => dirname(file))];
  }

  #hint(path: string, file: string | null, burst: boolean, name: string | null = null): void {
    const folder = this.#nameOf(path);
    if (folder === '..' || folder.startsWith('../')) return;
    const listed = file && this.#nameOf(file);
    this.#options.onFiles({ folder: folder === '' ? '.' : folder, file: listed, name, burst });
  }

  #nameOf(path: string): string {
    return relative(this.#options.root, path).split(sep).join(posix.sep);
  }
}
