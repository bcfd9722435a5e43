import type { DaemonCondition } from '../src/core/daemon-condition.ts';
import type { FolderEvent } from '../src/core/folder-event.ts';
import type { Logger } from '../src/core/logger.ts';
import type { RootSight } from '../src/core/root-guard.ts';
import type { Context } from '../src/operations/context.ts';
import type { Clock } from './clock.ts';

/** What hints stand on, and what they call: each call only says "go and look". */
export interface HintListener {
  readonly context: Context;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registryPath: string;
  /** Something happened in this folder, named from the root; `.` is the root itself. */
  readonly onFiles: (event: FolderEvent) => void;
  readonly onRegistry: () => Promise<void>;
  /** Anything may have happened, for this reason. */
  readonly onEverything: (reason: string) => void;
  /** `condition` says something else now. */
  readonly onCondition: () => void;
}

/** The quick nets over one source and the registry's file; what they miss the timer finds. */
export interface SourceHints {
  readonly condition: Pick<DaemonCondition, 'watcher' | 'watcherMessage' | 'drive'>;
  /** Watches these files from now on, named from the root, and the registry. */
  watch(files: readonly string[]): void;
  /** The root is there again, and may be another one though it looks the same. */
  rebuild(reason: string): void;
  /** Somebody outside knows of a change: a notification, a person. Nothing where there is nobody to wake. */
  wake(): void;
  /** Hints until the signal aborts; resolves when nothing is watched any more. */
  run(signal: AbortSignal): Promise<void>;
}

/** The root as the guard sees it. */
export interface RootEyes {
  /** What a person knows it by: a path, or a drive and a folder in it. */
  readonly path: string;
  /** Milliseconds from one observation to the next while all is well. */
  readonly everyMs: number;
  /** Patience with one observation; no second one begins meanwhile. */
  readonly answerMs: number;
  /**
   * What is there now; `required` are the files that every enabled agent cannot do without. Throws where this process itself is in
   * trouble, which says nothing of the root.
   */
  see(required: Iterable<string>): Promise<RootSight>;
}

/** A source as the daemon watches it. */
export interface WatchedSource {
  readonly openHints: (listener: HintListener) => SourceHints;
  readonly root: RootEyes;
}
