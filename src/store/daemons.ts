import { sql } from 'kysely';
import type { SourceType } from '../core/package.ts';
import type { Queries } from './database.ts';

/** A daemon whose heartbeat is older than this is taken for dead (`interface.md` 4). */
export const daemonDeadAfterSeconds = 15;

export interface DaemonRow {
  readonly id: string;
  readonly sourceType: SourceType;
  readonly environments: readonly string[];
  readonly resyncSeconds: number;
}

/** Writes a daemon's heartbeat by the database's clock, and forgets daemons that have been dead for a day. */
export async function beat(queries: Queries, daemon: DaemonRow): Promise<void> {
  await queries
    .insertInto('daemon')
    .values({
      id: daemon.id,
      source_type: daemon.sourceType,
      environments: [...daemon.environments],
      resync_seconds: daemon.resyncSeconds,
    })
    .onConflict((conflict) => conflict.column('id').doUpdateSet({ beat_at: sql`clock_timestamp()` }))
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

/** The ids of the daemons that have been heard of lately. */
export async function listLiveDaemons(queries: Queries): Promise<string[]> {
  const rows = await queries
    .selectFrom('daemon')
    .select('id')
    .where('beat_at', '>', sql<Date>`clock_timestamp() - make_interval(secs => ${daemonDeadAfterSeconds})`)
    .execute();
  return rows.map((row) => row.id);
}
