import type { DriveCondition } from '../../src/core/daemon-condition.ts';
import { driveHints, type DriveChange } from '../../src/core/drive-hints.ts';
import type { KnownItem } from '../../src/core/drive-tree.ts';
import { readChanges, type ChangesRead } from '../../src/source/graph/delta-feed.ts';
import { GraphError } from '../../src/source/graph/graph-error.ts';
import type { Graph } from '../../src/source/graph/graph.ts';
import { Pause, sleepUntil } from '../pause.ts';
import type { HintListener, SourceHints } from '../watched-source.ts';
import { ChangesCursor } from './changes-cursor.ts';
import { describeTrouble } from './describe-trouble.ts';
import { pollPauseMs, type PollFate } from './poll-pace.ts';

/** What hints need to know of the drive that the source reads. */
export interface DriveTree {
  /** The drive that the settings mean. Throws `GraphError` where it cannot be told. */
  resolve(): Promise<{ readonly driveId: string }>;
  /** The files and folders whose ids are known, those of the root's folder and of every folder on the way included. */
  knownItems(): Promise<readonly KnownItem[]>;
}

export interface DriveHintsOptions extends Omit<HintListener, 'onRegistry'> {
  readonly graph: Graph;
  readonly tree: DriveTree;
  readonly pollSeconds: number;
  /** Watches the registry's file, which is a local one. */
  readonly registry: Pick<SourceHints, 'watch' | 'run'> | null;
  /** Keeps a subscription, where somebody can be told of changes. */
  readonly subscription: SubscriptionCare | null;
  /** Between 0 and 1. */
  readonly random?: () => number;
}

/** As much of a keeper of subscriptions as hints need. */
export interface SubscriptionCare {
  /** When the notifications end; null where there are none. */
  readonly notifiedUntil: Date | null;
  run(signal: AbortSignal): Promise<void>;
}

/** Milliseconds between two rounds at least, whatever wakes them (T5). */
const leastMs = 1000;

/**
 * Hints from a drive: each round reads what has changed since the last one and says which files to look at. Nothing of it
 * is the truth; what it misses the timer finds. One round at a time; the timer, notifications and people wake the same one.
 */
export class DriveHints implements SourceHints {
  readonly #options: DriveHintsOptions;
  readonly #pause: Pause;
  readonly #cursor: ChangesCursor;
  #listed: readonly string[] = [];
  #phase: DriveCondition['phase'] = 'starts';
  #round = { pages: 0, items: 0, hints: 0 };
  #lastRoundAt: Date | null = null;
  #nextRoundAt: Date | null = null;
  #trouble: string | null = null;
  #failures = 0;
  #told: SourceHints['condition']['watcher'] = 'poll';
  #woken = false;

  constructor(options: DriveHintsOptions) {
    this.#options = options;
    this.#pause = new Pause(options.clock);
    this.#cursor = new ChangesCursor(options);
  }

  get condition(): SourceHints['condition'] {
    return { watcher: this.#watcher, watcherMessage: this.#trouble, drive: this.#drive };
  }

  watch(files: readonly string[]): void {
    this.#listed = files;
    this.#options.registry?.watch([]);
  }

  /** Another drive may be meant, and it is asked at once. */
  rebuild(reason: string): void {
    this.#options.logger.debug('the drive is asked for its changes', { reason });
    this.wake();
  }

  wake(): void {
    this.#woken = true;
    this.#pause.wake();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { registry, subscription } = this.#options;
    await Promise.all([this.#pollForever(signal), registry?.run(signal), subscription?.run(signal)]);
  }

  async #pollForever(signal: AbortSignal): Promise<void> {
    const aborted = sleepUntil(this.#options.clock, null, signal).then(() => null);
    while (!signal.aborted) {
      // A service that lets everybody wait must not keep the daemon from ending.
      const fate = await Promise.race([aborted, this.#roundOnce()]);
      if (fate === null) return;
      const { restMs, usualMs } = this.#plan(fate);
      await sleepUntil(this.#options.clock, restMs, signal);
      await this.#pause.sleep(usualMs - restMs, signal);
    }
  }

  /** Never throws: what ends a round leaves the link as it is, so that the next one reads the same again (D23). */
  async #roundOnce(): Promise<PollFate> {
    try {
      const fate = await this.#readRound();
      this.#lastRoundAt = this.#options.context.clock();
      return fate;
    } catch (error) {
      this.#trouble = describeTrouble(error);
      const isOff = error instanceof GraphError && error.trouble === 'setup';
      if (isOff) this.#phase = 'off';
      return isOff ? 'off' : 'failed';
    }
  }

  async #readRound(): Promise<PollFate> {
    const { graph, tree, onEverything } = this.#options;
    const woken = this.#woken;
    this.#woken = false;
    const { driveId } = await tree.resolve();
    if (await this.#cursor.turnTo(driveId)) onEverything('the settings lead to another drive');
    this.#round = { pages: 0, items: 0, hints: 0 };
    this.#phase = 'reads';
    const read = await readChanges(graph, {
      driveId,
      link: this.#cursor.link,
      onPage: (pages, items) => (this.#round = { ...this.#round, pages, items }),
    });
    if (read.kind === 'unsupported' && woken) onEverything('somebody knows of a change in the drive');
    return this.#take(read);
  }

  /** Hints first, the link after them: who dies in between reads the same changes once more (bugs 5, 6). */
  async #take(read: ChangesRead): Promise<PollFate> {
    const { onEverything } = this.#options;
    switch (read.kind) {
      case 'changes':
        if (read.tooMany) onEverything('more has changed in the drive than is kept of it');
        await this.#hint(read.changes);
        await this.#cursor.moveTo(read.link);
        break;
      case 'fresh':
        onEverything(read.reason);
        await this.#cursor.moveTo(read.link);
        break;
      case 'stuck':
        await this.#hint(read.changes);
        this.#trouble = read.message;
        return 'failed';
      case 'unsupported':
        this.#trouble = read.message;
        return 'unsupported';
      default:
        return read satisfies never;
    }
    this.#trouble = null;
    return 'well';
  }

  async #hint(changes: readonly DriveChange[]): Promise<void> {
    if (changes.length === 0) return;
    const known = await this.#options.tree.knownItems();
    const { events, ignored } = driveHints(known, this.#listed, changes);
    for (const event of events) this.#options.onFiles(event);
    this.#round = { ...this.#round, hints: events.length };
    this.#options.logger.debug('the drive told of changes', { hints: events.length, ignored });
  }

  /** When the next round is, and what is told until then. */
  #plan(fate: PollFate): { restMs: number; usualMs: number } {
    const { context, graph, pollSeconds, random = Math.random } = this.#options;
    this.#failures = fate === 'failed' ? this.#failures + 1 : 0;
    if (fate !== 'off') this.#phase = 'waits';
    const now = context.clock().getTime();
    const toldMs = (graph.waitsUntil?.getTime() ?? now) - now;
    const pollMs = pollSeconds * 1000;
    const paceMs = pollPauseMs(fate, { pollMs, failures: this.#failures, random: random() });
    const usualMs = Math.max(leastMs, paceMs, toldMs);
    this.#nextRoundAt = new Date(now + usualMs);
    this.#tell();
    // Whoever knows of a change need not wait; but a service in trouble is not asked each second.
    return { restMs: fate === 'well' ? leastMs : Math.min(usualMs, Math.max(pollMs, toldMs)), usualMs };
  }

  /** Tells a change of state once, however many rounds it lasts. */
  #tell(): void {
    const { logger, onCondition } = this.#options;
    const watcher = this.#watcher;
    if (watcher === this.#told) return;
    this.#told = watcher;
    onCondition();
    if (watcher !== 'degraded') logger.info('changes of the drive are read', { watcher });
    else logger.warn('changes of the drive are not read; the timer finds them', { reason: this.#trouble });
  }

  get #watcher(): SourceHints['condition']['watcher'] {
    if (this.#trouble !== null) return 'degraded';
    return this.#notifiedUntil === null ? 'poll' : 'notified';
  }

  get #notifiedUntil(): Date | null {
    const until = this.#options.subscription?.notifiedUntil ?? null;
    return until !== null && until > this.#options.context.clock() ? until : null;
  }

  get #drive(): DriveCondition {
    const { usage, waitsUntil } = this.#options.graph;
    return {
      driveId: this.#cursor.driveId,
      phase: this.#phase,
      ...this.#round,
      lastRoundAt: this.#lastRoundAt?.toISOString() ?? null,
      nextRoundAt: this.#nextRoundAt?.toISOString() ?? null,
      lastError: this.#trouble,
      waitsUntil: waitsUntil?.toISOString() ?? null,
      notifiedUntil: this.#notifiedUntil?.toISOString() ?? null,
      requests: usage.requests,
      units: usage.units,
    };
  }
}
