/**
 * How a daemon's root is: `ok`; `suspect` (it looks lost, and is looked at again before anybody is alarmed); `missing`
 * (lost: nothing is captured or refused, active versions stay); `returned` (there again, and watched until it is quiet).
 */
export const rootStates = ['ok', 'suspect', 'missing', 'returned'] as const;
export type RootState = (typeof rootStates)[number];

/**
 * Where a daemon's hints come from. Of a folder: events and sweep, the sweep alone by choice, or alone because the events
 * fail. Of a drive: polls of its changes, polls and notifications, or (`degraded` again) the timer alone.
 */
export const watcherStates = ['native', 'sweep', 'poll', 'notified', 'degraded'] as const;
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
  /** What it says of its drive; null for a daemon on a folder. */
  readonly drive: DriveCondition | null;
}

/** How a daemon gets on with a drive in Microsoft 365; times are ISO 8601, UTC. */
export interface DriveCondition {
  /** Null until it is known which drive the settings mean. */
  readonly driveId: string | null;
  /** What the reader of changes is doing: `waits` until the next round or until the service lets it. */
  readonly phase: 'starts' | 'reads' | 'waits' | 'off';
  /** Pages and items of the round under way, or of the last one. */
  readonly pages: number;
  readonly items: number;
  /** Hints of the last round that came to something. */
  readonly hints: number;
  readonly lastRoundAt: string | null;
  readonly nextRoundAt: string | null;
  /** The last error, with its code and request id; null after a round that went well. */
  readonly lastError: string | null;
  /** Until when the service has asked everybody to wait; null where nobody waits. */
  readonly waitsUntil: string | null;
  /** When the notifications end unless they are renewed; null where there are none. */
  readonly notifiedUntil: string | null;
  readonly requests: number;
  readonly units: number;
}
