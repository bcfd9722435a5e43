import { sql } from 'kysely';
import type { LoggedEvent } from '../core/event-notices.ts';
import type { EventAction } from '../core/events.ts';
import type { Queries } from './database.ts';
import { sourceIsStale } from './package-versions.ts';

/** A package, by name. */
interface PackageName {
  readonly agentKey: string;
  readonly environment: string;
}

/** Whether the log has grown since it was last turned into notices, or never was; asks for no lock. */
export async function hasUntoldEvents(queries: Queries): Promise<boolean> {
  const { rows } = await sql<{ untold: boolean }>`
    select c.sequence is null or h.sequence > c.sequence as untold
      from event_head h left join notice_cursor c on true
  `.execute(queries);
  return rows[0]?.untold ?? false;
}

/** Has notices begin at the head of the log, if they never did: what happened before a webhook was set is told to nobody. */
export async function beginNoticeCursor(queries: Queries): Promise<void> {
  await sql`insert into notice_cursor (sequence) select sequence from event_head on conflict do nothing`.execute(
    queries,
  );
}

/** Lets one transaction at a time make notices, and answers up to which event they are made. */
export async function lockNoticeCursor(queries: Queries): Promise<number> {
  await beginNoticeCursor(queries);
  const row = await queries
    .selectFrom('notice_cursor')
    .select('sequence')
    .forUpdate()
    .executeTakeFirstOrThrow();
  return row.sequence;
}

/** The events after this one in their order; who follows the numbers misses none (G13). */
export async function readEventsAfter(
  queries: Queries,
  sequence: number,
  limit: number,
): Promise<(LoggedEvent & { readonly at: Date })[]> {
  const rows = await queries
    .selectFrom('knowledge_event')
    .select(['sequence', 'at_micros', 'actor_ref', 'action', 'agent_key', 'environment', 'details'])
    .where('sequence', '>', sequence)
    .orderBy('sequence')
    .limit(limit)
    .execute();
  return rows.map((row) => ({
    sequence: row.sequence,
    at: new Date(row.at_micros / 1000),
    actorRef: row.actor_ref,
    action: row.action as EventAction,
    agentKey: row.agent_key,
    environment: row.environment,
    details: row.details,
  }));
}

export async function moveNoticeCursor(queries: Queries, sequence: number): Promise<void> {
  await queries.updateTable('notice_cursor').set({ sequence }).execute();
}

/** A watched package whose source has become stale since that was last told, or is stale no more. */
export interface StaleNews extends PackageName {
  readonly stale: boolean;
  readonly activeNumber: number | null;
  readonly generation: number;
}

/** The packages of which something else was last told than is so now, the first of them by their names. */
export async function listStaleNews(
  queries: Queries,
  { staleAfterMs, limit }: { readonly staleAfterMs: number; readonly limit: number },
): Promise<StaleNews[]> {
  // What nobody has looked at yet, as an agent that was registered or enabled again a moment ago, has not gone stale.
  const stale = sql<boolean>`(coalesce(s.watched and s.state <> 'unknown' and s.last_look_at is not null, false)
    and ${sourceIsStale(staleAfterMs)})`;
  const rows = await queries
    .selectFrom('package as p')
    .leftJoin('source_status as s', (join) =>
      join.onRef('s.agent_key', '=', 'p.agent_key').onRef('s.environment', '=', 'p.environment'),
    )
    .leftJoin('stale_told as t', (join) =>
      join.onRef('t.agent_key', '=', 'p.agent_key').onRef('t.environment', '=', 'p.environment'),
    )
    .innerJoin('registry_state as r', (join) => join.on('r.id', '=', true))
    .select(['p.agent_key', 'p.environment', 'p.active_number', 'p.generation'])
    .select(stale.as('stale'))
    .where(sql<boolean>`${stale} is distinct from (t.agent_key is not null)`)
    .orderBy('p.agent_key')
    .orderBy('p.environment')
    .limit(limit)
    .execute();
  return rows.map((row) => ({
    agentKey: row.agent_key,
    environment: row.environment,
    stale: row.stale,
    activeNumber: row.active_number,
    generation: row.generation,
  }));
}

/** Notes that it has been told that these sources are stale. */
export async function noteStaleTold(queries: Queries, names: readonly PackageName[]): Promise<void> {
  if (names.length === 0) return;
  await queries
    .insertInto('stale_told')
    .values(names.map(({ agentKey, environment }) => ({ agent_key: agentKey, environment })))
    .execute();
}

/** Forgets it of those that are well again, so that it is told anew when they go stale anew. */
export async function forgetStaleTold(queries: Queries, names: readonly PackageName[]): Promise<void> {
  if (names.length === 0) return;
  await queries
    .deleteFrom('stale_told')
    .where((where) =>
      where(
        where.refTuple('agent_key', 'environment'),
        'in',
        names.map((name) => where.tuple(name.agentKey, name.environment)) as never,
      ),
    )
    .execute();
}
