import { sql } from 'kysely';
import { isLive } from './daemons.ts';
import type { Queries } from './database.ts';

/** A daemon that has stopped beating without saying that it stops. */
export interface SilentDaemon {
  readonly host: string;
  readonly processId: number;
  readonly environments: readonly string[];
  readonly silentSeconds: number;
}

/** A package with requests that nobody has answered for a while. */
export interface WaitingPackage {
  readonly agentKey: string;
  readonly environment: string;
  readonly requests: number;
  readonly oldestSeconds: number;
}

/** The daemons that were killed or hang, the latest first; a day later they are forgotten. */
export async function listSilentDaemons(queries: Queries): Promise<SilentDaemon[]> {
  const rows = await queries
    .selectFrom('daemon')
    .select(['host', 'process_id', 'environments'])
    .select(sql<number>`extract(epoch from clock_timestamp() - beat_at)::float8`.as('silent'))
    .where(sql<boolean>`not ${isLive('daemon')}`)
    .orderBy('beat_at', 'desc')
    .execute();
  return rows.map((row) => ({
    host: row.host,
    processId: row.process_id,
    environments: row.environments,
    silentSeconds: Math.round(row.silent),
  }));
}

/** The packages whose requests have been open for longer than this, the oldest first. */
export async function listWaitingPackages(queries: Queries, seconds: number): Promise<WaitingPackage[]> {
  const rows = await queries
    .selectFrom('refresh_attempt')
    .select(['agent_key', 'environment'])
    .select(sql<number>`count(*)::integer`.as('requests'))
    .select(sql<number>`extract(epoch from clock_timestamp() - min(created_at))::float8`.as('oldest'))
    .where('state', '<>', 'DONE')
    .where(sql<boolean>`created_at < clock_timestamp() - make_interval(secs => ${seconds})`)
    .groupBy(['agent_key', 'environment'])
    .orderBy('oldest', 'desc')
    .execute();
  return rows.map((row) => ({
    agentKey: row.agent_key,
    environment: row.environment,
    requests: row.requests,
    oldestSeconds: Math.round(row.oldest),
  }));
}
