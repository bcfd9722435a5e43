import pLimit from 'p-limit';
import { hintFor, type FolderEvent } from '../src/core/folder-event.ts';
import type { Logger } from '../src/core/logger.ts';
import type { PackageDefinition } from '../src/core/package.ts';
import type { SettleHint, SettleTimes } from '../src/core/settle-window.ts';
import type { Context } from '../src/operations/context.ts';
import type { Looker, LookTrigger } from '../src/operations/refresh-knowledge.ts';
import type { Source } from '../src/source/source.ts';
import type { Clock } from './clock.ts';
import { lookStepsOf, type LookReporter } from './look-steps.ts';
import { PackageLooker } from './package-looker.ts';
import type { RegistryKeeper } from './registry-keeper.ts';
import type { RootGate } from './root-guard.ts';
import { SpaceAlarm } from './space-alarm.ts';

interface PackageName {
  readonly agentKey: string;
  readonly environment: string;
}

export interface LookerPoolOptions {
  readonly context: Context;
  readonly looker: Looker;
  readonly source: Source;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly registry: RegistryKeeper;
  readonly watchEnvironments: readonly string[];
  readonly settleTimes: (environment: string) => SettleTimes;
  readonly onLook: LookReporter;
  readonly root?: RootGate;
}

/** Passes over files and database under way at once, over all packages. */
const passesAtOnce = 4;

/** One looker per package, made when it is first needed; knows which packages the registry has watched. */
export class LookerPool {
  readonly #options: LookerPoolOptions;
  readonly #lookers = new Map<string, PackageLooker>();
  readonly #limit = pLimit(passesAtOnce);

  /** One for all packages: the disk is everybody's. */
  readonly space: SpaceAlarm;

  constructor(options: LookerPoolOptions) {
    this.#options = options;
    this.space = new SpaceAlarm(options.logger);
  }

  /** The enabled agents of the registry in force, in every watched environment. */
  watchedPackages(): PackageName[] {
    return this.#watchedAgents().flatMap((agent) =>
      this.#options.watchEnvironments.map((environment) => ({ agentKey: agent.agentKey, environment })),
    );
  }

  /** Every path that some watched package lists. */
  watchedFiles(): string[] {
    return [
      ...new Set(this.#watchedAgents().flatMap((agent) => agent.files.map((file) => file.relativePath))),
    ];
  }

  /** Every path that some watched package cannot do without. */
  requiredFiles(): Set<string> {
    const files = this.#watchedAgents().flatMap((agent) => agent.files.filter((file) => file.required));
    return new Set(files.map((file) => file.relativePath));
  }

  /** Hints at every watched package that something below the root may concern. */
  hintAt(event: FolderEvent): void {
    for (const { agentKey, files } of this.#watchedAgents()) {
      const hint = hintFor(event, files);
      if (hint === null) continue;
      for (const environment of this.#options.watchEnvironments) {
        this.hint({ agentKey, environment }, 'watch', hint);
      }
    }
  }

  hint(name: PackageName, trigger: LookTrigger, hint?: Omit<SettleHint, 'at'>): void {
    this.#lookerOf(name).hint(trigger, hint);
  }

  /** The requests that some look is going to answer. */
  heldAttempts(): string[] {
    return [...this.#lookers.values()].flatMap((looker) => looker.heldAttempts);
  }

  isBusy(name: PackageName): boolean {
    return this.#lookers.get(keyOf(name))?.busy ?? false;
  }

  async idle(): Promise<void> {
    await Promise.all([...this.#lookers.values()].map((looker) => looker.idle()));
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#lookers.values()].map((looker) => looker.stop()));
  }

  #watchedAgents(): PackageDefinition[] {
    return [...(this.#options.registry.inForce.registry?.agents.values() ?? [])].filter(
      (agent) => agent.enabled,
    );
  }

  #lookerOf(name: PackageName): PackageLooker {
    const known = this.#lookers.get(keyOf(name));
    if (known) return known;
    const { clock, settleTimes } = this.#options;
    const steps = lookStepsOf(name, { ...this.#options, space: this.space });
    const looker = new PackageLooker({
      steps,
      clock,
      limit: this.#limit,
      times: settleTimes(name.environment),
    });
    this.#lookers.set(keyOf(name), looker);
    return looker;
  }
}

function keyOf(name: PackageName): string {
  return `${name.environment}/${name.agentKey}`;
}
