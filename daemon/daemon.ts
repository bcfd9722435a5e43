import type { DaemonCondition } from '../src/core/daemon-condition.ts';
import { KnowledgeError } from '../src/core/errors.ts';
import type { Logger } from '../src/core/logger.ts';
import type { SettleTimes } from '../src/core/settle-window.ts';
import type { RegistryInForce } from '../src/operations/accept-registry.ts';
import type { Context } from '../src/operations/context.ts';
import { beatDaemon, leaveDaemon } from '../src/operations/looker.ts';
import type { Looker } from '../src/operations/refresh-knowledge.ts';
import type { Source } from '../src/source/source.ts';
import type { Clock } from './clock.ts';
import { LocalHints } from './hints/local-hints.ts';
import { LookerPool } from './looker-pool.ts';
import type { LookReporter } from './look-steps.ts';
import { RegistryKeeper } from './registry-keeper.ts';
import { resyncAll } from './resync.ts';

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
  readonly registry: {
    readonly path: string;
    readonly read: () => Promise<Uint8Array | null>;
  };
  readonly local: {
    readonly root: string;
    readonly sweepMs: number;
    readonly watcher: boolean;
    readonly statPrint: (path: string) => Promise<string>;
  };
  readonly onLook: LookReporter;
}

/** Faults of a registry that the log names; `registry check` lists them all (T44). */
const toldAtOnce = 5;

/** Seconds, about, that a start waits for a database that cannot answer. */
const startAttempts = 15;

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
  readonly #hints: LocalHints;
  readonly #stop = new AbortController();
  readonly #background: Promise<void>[] = [];

  private constructor(options: DaemonOptions) {
    this.#options = options;
    const { context, clock, looker, watchEnvironments } = options;
    this.#registry = new RegistryKeeper({
      context,
      clock,
      watchEnvironments,
      looker,
      read: options.registry.read,
      print: () => options.local.statPrint(options.registry.path),
      announce: () => this.#beat(),
    });
    this.#pool = new LookerPool({ ...options, registry: this.#registry });
    this.#hints = new LocalHints({
      ...options.local,
      registryPath: options.registry.path,
      clock,
      logger: options.logger,
      onFiles: (hint) => this.#hintFolder(hint.folder, hint),
      onRegistry: () => this.#lookAtRegistry(),
      onTrouble: () => this.#hintAll('sweep'),
    });
  }

  /** Starts looking; resolves when every watched package has been looked at once. */
  static async start(options: DaemonOptions): Promise<Daemon> {
    const daemon = new Daemon(options);
    await daemon.#patiently(() => daemon.#beat());
    await daemon.#patiently(() => daemon.#registry.look());
    daemon.#tellRegistry();
    daemon.#tellDispute(null, daemon.#registry.inForce);
    await daemon.#watch();
    daemon.#hintAll('start');
    await options.context.queue.work(
      { refresh: async (name) => daemon.#pool.hint(name, 'request'), resync: () => daemon.#resync() },
      2,
    );
    daemon.#background.push(daemon.#beatForever(), daemon.#hints.sweepForever(daemon.#stop.signal));
    await daemon.#pool.idle();
    return daemon;
  }

  /** Ends the looks under way and says goodbye. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#hints[Symbol.asyncDispose]();
    await Promise.allSettled(this.#background);
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
    while (!this.#stop.signal.aborted) {
      await this.#options.clock.sleep(beatMs, this.#stop.signal).catch(() => undefined);
      if (this.#stop.signal.aborted) return;
      await this.#guard('The heartbeat failed', () => this.#beat());
      if (this.#registry.inForce.disputedBy.length > 0) await this.#lookAtRegistry();
    }
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
      root: 'ok',
      rootMessage: null,
      watcher: this.#options.local.watcher ? 'native' : 'sweep',
      watcherMessage: null,
      registryOffered: this.#registry.offered,
    };
  }

  async #resync(): Promise<void> {
    await this.#lookAtRegistry();
    await resyncAll({ ...this.#options, registry: this.#registry.inForce.registry, pool: this.#pool });
    await this.#scheduleResync();
  }

  async #scheduleResync(): Promise<void> {
    const at = this.#options.context.clock().getTime() + this.#options.resyncSeconds * 1000;
    await this.#options.context.queue.scheduleResync(new Date(at));
  }

  async #lookAtRegistry(): Promise<void> {
    await this.#guard('The registry could not be looked at', async () => {
      const before = this.#registry.inForce;
      const now = await this.#registry.look();
      if (now.faults[0]?.message !== before.faults[0]?.message || now.changed) this.#tellRegistry();
      this.#tellDispute(before, now);
      if (now.registry?.checksum === before.registry?.checksum) return;
      await this.#watch();
      this.#hintAll('registry');
    });
  }

  #tellRegistry(): void {
    const { registry, faults } = this.#registry.inForce;
    const { logger } = this.#options;
    for (const fault of faults.slice(0, toldAtOnce)) {
      logger.error(`registry refused: ${fault.message}`, { code: fault.code });
    }
    if (faults.length > 0) {
      const more = faults.length > toldAtOnce ? `${faults.length - toldAtOnce} more faults; ` : '';
      logger.error(
        `${more}${registry ? 'the last good registry stays in force' : 'there is no registry in force'}`,
      );
    }
    for (const warning of registry?.warnings.slice(0, toldAtOnce) ?? []) {
      logger.warn(`registry: ${warning.message}`, { code: warning.code });
    }
  }

  /** The alarm of two daemons that read different registries, and its end, once each. */
  #tellDispute(before: RegistryInForce | null, now: RegistryInForce): void {
    const [wasDisputed, isDisputed] = [before, now].map((state) => (state?.disputedBy.length ?? 0) > 0);
    if (wasDisputed === isDisputed) return;
    if (!isDisputed) return this.#options.logger.info('all live daemons read the same registry again');
    const others = now.disputedBy.map((daemon) => `process ${daemon.processId} on ${daemon.host}`).join(', ');
    this.#options.logger.error(
      `another live daemon (${others}) reads another registry than this one; neither takes effect, the registry in force stays. Give both the same file`,
      { path: this.#options.registry.path },
    );
  }

  async #watch(): Promise<void> {
    await this.#hints.watch(this.#pool.watchedFiles());
  }

  #hintFolder(folder: string, hint: { file: string | null; burst: boolean }): void {
    for (const name of this.#pool.packagesIn(folder)) this.#pool.hint(name, 'watch', hint);
  }

  #hintAll(trigger: 'start' | 'registry' | 'sweep'): void {
    for (const name of this.#pool.watchedPackages())
      this.#pool.hint(name, trigger, { file: null, burst: trigger === 'registry' });
  }

  async #guard(what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#options.logger.error(`${what}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
}
