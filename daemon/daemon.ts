import { backOffMs } from '../src/core/back-off.ts';
import type { DaemonCondition } from '../src/core/daemon-condition.ts';
import { KnowledgeError, messageOf } from '../src/core/errors.ts';
import type { Logger } from '../src/core/logger.ts';
import type { SettleTimes } from '../src/core/settle-window.ts';
import type { RegistryInForce } from '../src/operations/accept-registry.ts';
import type { Context } from '../src/operations/context.ts';
import { beatDaemon, leaveDaemon } from '../src/operations/looker.ts';
import type { Looker } from '../src/operations/refresh-knowledge.ts';
import type { RegistryFile } from '../src/source/registry-file.ts';
import type { Source } from '../src/source/source.ts';
import type { Clock } from './clock.ts';
import { LookerPool } from './looker-pool.ts';
import type { LookReporter } from './look-steps.ts';
import { Pause, sleepUntil } from './pause.ts';
import { RegistryKeeper } from './registry-keeper.ts';
import { describeRegistry, tellRegistry } from './registry-news.ts';
import { resyncAll } from './resync.ts';
import { warnOfSlowPass } from './resync-pace.ts';
import { RootWatch } from './root-watch.ts';
import type { SourceHints, WatchedSource } from './watched-source.ts';

export interface DaemonOptions {
  readonly context: Context;
  readonly looker: Looker;
  readonly identity: { readonly host: string; readonly processId: number };
  readonly source: Source;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly watchEnvironments: readonly string[];
  readonly settleTimes: (environment: string) => SettleTimes;
  readonly resyncSeconds: number;
  readonly registry: RegistryFile;
  readonly watched: WatchedSource;
  readonly onLook: LookReporter;
  /** One line for whoever watches a terminal: an alarm, its end, a registry that has taken effect. */
  readonly onAlarm?: (text: string) => void;
  /** Settles when the daemon is asked to stop: a start does not wait for its first looks any longer then. */
  readonly stop?: Promise<unknown>;
}

/** Seconds, about, that a start waits for a database that cannot answer. */
const startAttempts = 15;

/** How long a start waits for its first looks at most. */
const firstLooksMs = 20_000;

/** How often a daemon says that it lives; dead after 15 s of silence. */
const beatMs = 5000;

/**
 * Keeps packages in step with their source: three independent nets of hints (watcher, stat sweep, full resync), requests
 * from doors, and one looker per package that turns hints into looks. Any number of daemons may run (G12); nothing here
 * assumes to be the only one.
 */
export class Daemon implements AsyncDisposable {
  readonly #options: DaemonOptions;
  readonly #registry: RegistryKeeper;
  readonly #pool: LookerPool;
  readonly #hints: SourceHints;
  readonly #root: RootWatch;
  readonly #stop = new AbortController();
  /** The registry as it was last told of: looks may be asked for while one is under way, and share its result. */
  #toldRegistry: RegistryInForce | null = null;
  /** The heartbeat's: cut short when there is something to say. */
  readonly #beatPause: Pause;
  /** Whether a full look is asked for while one is under way. */
  #resyncAsked = false;
  #resyncing: Promise<void> | null = null;
  readonly #background: Promise<void>[] = [];

  private constructor(options: DaemonOptions) {
    this.#options = options;
    const { context, clock, looker, watchEnvironments } = options;
    this.#beatPause = new Pause(clock);
    this.#registry = new RegistryKeeper({
      context,
      clock,
      watchEnvironments,
      looker,
      read: options.registry.read,
      print: options.registry.print,
      announce: () => this.#beat(),
    });
    this.#root = new RootWatch({
      ...options,
      required: () => this.#pool.requiredFiles(),
      onNews: () => this.#beatSoon(),
      onReturned: () => this.#onRootReturned(),
    });
    this.#pool = new LookerPool({ ...options, registry: this.#registry, root: this.#root.guard });
    this.#hints = options.watched.openHints({
      context,
      registryPath: options.registry.path,
      clock,
      logger: options.logger,
      onFiles: (event) => this.#pool.hintAt(event),
      onRegistry: () => this.#lookAtRegistry(),
      onEverything: (reason) => this.#resyncSoon(reason),
      onCondition: () => this.#beatSoon(),
    });
  }

  /** Starts looking; resolves when every watched package has been looked at once. */
  static async start(options: DaemonOptions): Promise<Daemon> {
    const daemon = new Daemon(options);
    await daemon.#patiently(() => daemon.#beat());
    await daemon.#patiently(() => daemon.#registry.look());
    daemon.#tellRegistry();
    await daemon.#root.guard.look();
    await daemon.#patiently(() => daemon.#root.tell());
    daemon.#watch();
    daemon.#hintAll('start');
    await options.context.queue.work(
      {
        refresh: async (name) => daemon.#pool.hint(name, 'request'),
        resync: () => daemon.#resync(),
        poll: async () => daemon.#hints.wake(),
      },
      2,
    );
    const { signal } = daemon.#stop;
    daemon.#background.push(
      daemon.#beatForever(),
      daemon.#hints.run(signal),
      daemon.#root.guard.watchForever(signal),
    );
    // A source that does not answer keeps nobody from watching the others.
    const patience = sleepUntil(options.clock, firstLooksMs, signal);
    await Promise.race([daemon.#pool.idle(), patience, options.stop ?? new Promise(() => undefined)]);
    return daemon;
  }

  /** Ends the looks under way and says goodbye. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await Promise.allSettled(this.#background);
    await this.#resyncing;
    await this.#pool.stop();
    await leaveDaemon(this.#options.context, this.#options.looker);
  }

  /** A database that cannot answer at this moment is no reason not to start. */
  async #patiently(work: () => Promise<unknown>): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await work();
        return;
      } catch (error) {
        const passing = error instanceof KnowledgeError && error.code === 'UNAVAILABLE';
        if (!passing || attempt === startAttempts) throw error;
        this.#options.logger.warn(`the start waits: ${error.message}`);
        await this.#options.clock.sleep(1000);
      }
    }
  }

  async #beatForever(): Promise<void> {
    for (let failures = 0; !this.#stop.signal.aborted;) {
      const pauseMs = failures === 0 ? beatMs : Math.min(backOffMs(failures - 1), beatMs);
      await this.#beatPause.sleep(pauseMs, this.#stop.signal);
      if (this.#stop.signal.aborted) return;
      failures = (await this.#hasBeaten(failures)) ? 0 : failures + 1;
      await this.#guard('The state of the root could not be told', () => this.#root.tell());
      if (this.#registry.inForce.disputedBy.length > 0) await this.#lookAtRegistry();
    }
  }

  /** Tells a heartbeat that fails once, and that it goes on; a database that is away is nobody's reason to be taken for dead. */
  async #hasBeaten(failures: number): Promise<boolean> {
    const { logger } = this.#options;
    try {
      await this.#beat();
      if (failures > 0) logger.warn('the heartbeat goes on', { failures });
      return true;
    } catch (error) {
      // A full disk is told once, whoever meets it first (F29).
      const isTold = this.#pool.space.raise(error);
      if (failures === 0 && !isTold) logger.error(`the heartbeat failed: ${messageOf(error)}`);
      return false;
    }
  }

  /** Says at once how this daemon is, for what it said last is not so any more. */
  #beatSoon(): void {
    this.#beatPause.wake();
  }

  async #beat(): Promise<void> {
    const { context, looker, source, watchEnvironments, resyncSeconds } = this.#options;
    const waiting = await beatDaemon(context, {
      looker,
      sourceType: source.type,
      environments: watchEnvironments,
      resyncSeconds,
      ...this.#options.identity,
      condition: this.#condition(),
      held: this.#pool.heldAttempts(),
    });
    for (const name of waiting) this.#pool.hint(name, 'request');
    await this.#scheduleResync();
  }

  #condition(): DaemonCondition {
    return {
      ...this.#root.guard.condition,
      ...this.#hints.condition,
      registryOffered: this.#registry.offered,
    };
  }

  async #resync(): Promise<void> {
    await this.#lookAtRegistry();
    await resyncAll({
      ...this.#options,
      registry: this.#registry.inForce.registry,
      pool: this.#pool,
      isRootWell: () => this.#root.guard.state === 'ok',
    });
    await this.#scheduleResync();
  }

  /** A full look out of turn, since a change may have come without a hint; any number of reasons means one look more. */
  #resyncSoon(reason: string): void {
    if (this.#stop.signal.aborted) return;
    this.#options.logger.debug('everything is looked at', { reason });
    this.#resyncAsked = true;
    this.#resyncing ??= this.#resyncWhileAsked().finally(() => {
      this.#resyncing = null;
    });
  }

  async #resyncWhileAsked(): Promise<void> {
    while (this.#resyncAsked && !this.#stop.signal.aborted) {
      this.#resyncAsked = false;
      await this.#guard('The full look failed', () => this.#resync());
    }
  }

  async #scheduleResync(): Promise<void> {
    await this.#options.context.queue.scheduleResync(this.#options.resyncSeconds);
  }

  async #lookAtRegistry(): Promise<void> {
    await this.#guard('The registry could not be looked at', async () => {
      await this.#registry.look();
      const before = this.#toldRegistry;
      const now = this.#tellRegistry();
      if (now.registry?.checksum === before?.registry?.checksum) return;
      this.#watch();
      this.#root.startAnew();
      this.#hintAll('registry');
    });
  }

  /** The watcher may sit on a folder that is not there any more. */
  #onRootReturned(): void {
    this.#hints.rebuild('the root has returned');
    this.#hintAll('sweep');
  }

  /** Tells what is new since it was last told, once; answers what is in force. */
  #tellRegistry(): RegistryInForce {
    const { logger, registry, onAlarm } = this.#options;
    const [before, now] = [this.#toldRegistry, this.#registry.inForce];
    if (now === before) return now;
    this.#toldRegistry = now;
    tellRegistry(logger, { path: registry.path, before, now });
    if (now.registry?.checksum !== before?.registry?.checksum)
      warnOfSlowPass(logger, { ...this.#options, registry: now.registry });
    if (before !== null && now.changed) {
      logger.info(describeRegistry(now));
      onAlarm?.(describeRegistry(now));
    }
    return now;
  }

  #watch(): void {
    this.#hints.watch(this.#pool.watchedFiles());
  }

  #hintAll(trigger: 'start' | 'registry' | 'sweep'): void {
    const hint = { file: null, burst: trigger !== 'start' };
    for (const name of this.#pool.watchedPackages()) this.#pool.hint(name, trigger, hint);
  }

  async #guard(what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (this.#pool.space.raise(error)) return;
      this.#options.logger.error(`${what}: ${messageOf(error)}`);
    }
  }
}
