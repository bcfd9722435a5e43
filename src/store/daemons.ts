import { sql } from 'kysely';
import type { DaemonCondition, RootState, WatcherState } from '../core/daemon-condition.ts';
import type { SourceType } from '../core/package.ts';
import type { Queries } from './database.ts';

/** A daemon whose heartbeat is older than this is taken for dead (`interface.md` 4). */
export const daemonDeadAfterSeconds = 15;

export interface DaemonRow {
  readonly id: string;
  readonly sourceType: SourceType;
  readonly environments: readonly string[];
  readonly resyncSeconds: number;
  /** The machine's name and the process id there: how an operator finds it. */
  readonly host: string;
  readonly processId: number;
  readonly condition: DaemonCondition;
}

/** A daemon that has been heard of lately. */
export interface LiveDaemon extends DaemonRow {
  readonly startedAt: Date;
  readonly beatAt: Date;
}

/** Writes a daemon's heartbeat by the database's clock, and forgets daemons that have been dead for a day. */
export async function beat(queries: Queries, daemon: DaemonRow): Promise<void> {
  const { condition } = daemon;
  const moving = {
    root_state: condition.root,
    root_message: condition.rootMessage,
    watcher_state: condition.watcher,
    watcher_message: condition.watcherMessage,
    registry_offered: condition.registryOffered,
    drive: condition.drive === null ? null : (JSON.stringify(condition.drive) as never),
  };
  await queries
    .insertInto('daemon')
    .values({
      id: daemon.id,
      source_type: daemon.sourceType,
      environments: [...daemon.environments],
      resync_seconds: daemon.resyncSeconds,
      host: daemon.host,
      process_id: daemon.processId,
      ...moving,
    })
    .onConflict((conflict) =>
      conflict.column('id').doUpdateSet({ ...moving, beat_at: sql`clock_timestamp()` }),
    )
    .execute();
  await queries
    .deleteFrom('daemon')
    .where('beat_at', '<', sql<Date>`clock_timestamp() - interval '1 day'`)
    .execute();
}

/** A daemon that stops says so, so that nobody waits for it. */
export async function forgetDaemon(queries: Queries, id: string): Promise<void> {
  await queries.deleteFrom('daemon').where('id', '=', id).execute();
}

/** Whether the row of this name in a statement is of a daemon that has been heard of lately. */
export function isLive(daemon: string) {
  const beatAt = sql.ref(`${daemon}.beat_at`);
  return sql<boolean>`${beatAt} > clock_timestamp() - make_interval(secs => ${daemonDeadAfterSeconds})`;
}

/** The daemons that have been heard of lately, the oldest first. */
export async function listLiveDaemons(queries: Queries): Promise<LiveDaemon[]> {
  const rows = await queries
    .selectFrom('daemon')
    .selectAll()
    .where(isLive('daemon'))
    .orderBy('started_at')
    .orderBy('id')
    .execute();
  return rows.map((row) => ({
    id: row.id,
    sourceType: row.source_type as SourceType,
    environments: row.environments,
    resyncSeconds: row.resync_seconds,
    host: row.host,
    processId: row.process_id,
    condition: {
      root: row.root_state as RootState,
      rootMessage: row.root_message,
      watcher: row.watcher_state as WatcherState,
      watcherMessage: row.watcher_message,
      registryOffered: row.registry_offered,
      drive: row.drive,
    },
    startedAt: row.started_at,
    beatAt: row.beat_at,
  }));
}
