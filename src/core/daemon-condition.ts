/**
 * How a daemon's root is: `ok`; `suspect` (it looks lost, and is looked at again before anybody is alarmed); `missing`
 * (lost: nothing is captured or refused, active versions stay); `returned` (there again, and watched until it is quiet).
 */
export const rootStates = ['ok', 'suspect', 'missing', 'returned'] as const;
export type RootState = (typeof rootStates)[number];

/** Where a daemon's hints come from: events and sweep, the sweep alone by choice, or alone because the events fail. */
export const watcherStates = ['native', 'sweep', 'degraded'] as const;
export type WatcherState = (typeof watcherStates)[number];

/** What a daemon says of itself with each heartbeat. */
export interface DaemonCondition {
  readonly root: RootState;
  /** Why the root is not `ok`, as a sentence; null where it is. */
  readonly rootMessage: string | null;
  readonly watcher: WatcherState;
  /** Why there are no events, as a sentence; null where there are. */
  readonly watcherMessage: string | null;
  /** What its own registry file last held: the SHA-256 of its bytes, or `missing`; null before the first reading. */
  readonly registryOffered: string | null;
}
