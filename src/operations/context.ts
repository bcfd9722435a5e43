import type { Caller } from '../core/permissions.ts';
import type { Database } from '../store/database.ts';
import type { JobQueue } from '../store/job-queue.ts';
import type { KnowledgeFeed } from './knowledge-feed.ts';

/** What the settings say about how packages are treated. */
export interface Policy {
  readonly environments: readonly string[];
  readonly defaultEnvironment: string;
  readonly maxFileBytes: number;
  readonly shrinkHold: boolean;
  readonly holdOnRollback: boolean;
  readonly maxVersionsPerHour: number;
  readonly resyncSeconds: number;
  /** Per environment; `manual`: versions wait for a person. */
  readonly activate: (environment: string) => 'auto' | 'manual';
  readonly secondPersonEnvironments: readonly string[];
}

/** What every operation stands on; made once per process by a composition root. */
export interface Context {
  readonly database: Database;
  readonly queue: JobQueue;
  /** Changes of packages as they come; it runs while somebody follows. */
  readonly feed: KnowledgeFeed;
  readonly policy: Policy;
  readonly clock: () => Date;
  /** Why nothing may be captured now, in a caller's words; null where the database's disk has room, or is not ours to ask. */
  readonly room: () => Promise<string | null>;
}

/** An operation on behalf of somebody. */
export interface CallContext extends Context {
  readonly caller: Caller;
}

/** How old the last success at a watched package may be before its source counts as stale. */
export function staleAfterMs(policy: Policy): number {
  return Math.max(3 * policy.resyncSeconds * 1000, 120_000);
}
