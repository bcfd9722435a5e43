import { detailsText, type EventAction, type NewEvent } from '../core/events.ts';
import type { Queries } from './database.ts';

/**
 * Appends to the audit log. Call it last in a transaction: it takes the log's one lock, which is held to commit, so
 * that events become visible in the order of their numbers (G13). Place, time and hash are the database's.
 */
export async function appendEvent(queries: Queries, event: NewEvent): Promise<void> {
  await queries
    .insertInto('knowledge_event')
    .values({
      actor_id: event.actorId,
      action: event.action,
      agent_key: event.agentKey ?? null,
      environment: event.environment ?? null,
      subject: event.subject ?? null,
      details: detailsText(event.details),
    })
    .execute();
}

export interface StoredEvent {
  readonly epoch: number;
  readonly sequence: number;
  readonly atMicros: number;
  /** `<kind>:<row id>`: what the hash covers. */
  readonly actorRef: string;
  /** The name, where it has not been erased. */
  readonly actorName: string | null;
  readonly action: EventAction;
  readonly agentKey: string | null;
  readonly environment: string | null;
  readonly subject: string | null;
  readonly details: string;
  readonly previousHash: string;
  readonly hash: string;
}

export interface EventFilter {
  readonly agentKey?: string | undefined;
  readonly environment?: string | undefined;
  readonly action?: string | undefined;
  /** Null: every package and what concerns none; else only events of packages of these agents. */
  readonly agents: readonly string[] | null;
  readonly environments: readonly string[] | null;
  /** Whether events that concern no package are included. */
  readonly general: boolean;
}

/** Events newest first, below `before`. */
export async function listEvents(
  queries: Queries,
  filter: EventFilter,
  page: { readonly limit: number; readonly before: number | null },
): Promise<StoredEvent[]> {
  let query = filtered(queries, filter)
    .leftJoin('actor_name', 'actor_name.actor_id', 'knowledge_event.actor_id')
    .selectAll('knowledge_event')
    .select('actor_name.name as actor_name')
    .orderBy('sequence', 'desc')
    .limit(page.limit);
  if (page.before !== null) query = query.where('sequence', '<', page.before);
  return (await query.execute()).map((row) => ({
    epoch: row.epoch,
    sequence: row.sequence,
    atMicros: row.at_micros,
    actorRef: row.actor_ref,
    actorName: row.actor_name,
    action: row.action as EventAction,
    agentKey: row.agent_key,
    environment: row.environment,
    subject: row.subject,
    details: row.details,
    previousHash: row.previous_hash,
    hash: row.hash,
  }));
}

/** How many events match, counted up to `limit`. */
export async function countEvents(queries: Queries, filter: EventFilter, limit: number): Promise<number> {
  const row = await queries
    .selectFrom(filtered(queries, filter).select('sequence').limit(limit).as('matching'))
    .select((select) => select.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  return row.count;
}

function filtered(queries: Queries, filter: EventFilter) {
  let query = queries.selectFrom('knowledge_event');
  if (filter.agentKey !== undefined) query = query.where('agent_key', '=', filter.agentKey);
  if (filter.environment !== undefined) query = query.where('environment', '=', filter.environment);
  if (filter.action !== undefined) query = query.where('action', '=', filter.action);
  if (filter.agents !== null) query = query.where('agent_key', 'in', [...filter.agents, '']);
  if (filter.environments !== null) query = query.where('environment', 'in', [...filter.environments, '']);
  if (!filter.general) query = query.where('agent_key', 'is not', null);
  return query;
}
