import { sql } from 'kysely';
import { detailsText, type EventAction, type NewEvent } from '../core/events.ts';
import { reach } from '../core/failpoint.ts';
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
  reach('after event');
}

/** What the log last says of a package; null when it says nothing yet. */
export async function readLastAction(
  queries: Queries,
  agentKey: string,
  environment: string,
): Promise<EventAction | null> {
  const row = await queries
    .selectFrom('knowledge_event')
    .select('action')
    .where('agent_key', '=', agentKey)
    .where('environment', '=', environment)
    .orderBy('sequence', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row ? (row.action as EventAction) : null;
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

interface EventPage {
  readonly limit: number;
  readonly before: number | null;
}

/** Events newest first, below `before`. */
export async function listEvents(
  queries: Queries,
  filter: EventFilter,
  page: EventPage,
): Promise<StoredEvent[]> {
  const rows = await queries
    .selectFrom('knowledge_event')
    .leftJoin('actor_name', 'actor_name.actor_id', 'knowledge_event.actor_id')
    .selectAll('knowledge_event')
    .select('actor_name.name as actor_name')
    .where('sequence', 'in', matching(queries, filter, page))
    .orderBy('sequence', 'desc')
    .limit(page.limit)
    .execute();
  return rows.map((row) => ({
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
    .selectFrom(matching(queries, filter, { limit, before: null }).limit(limit).as('matching'))
    .select((select) => select.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  return row.count;
}

/**
 * The numbers of the newest events that match, `limit` of them for each agent where agents are named. Agent by agent,
 * since a list of agents in one condition makes the server read the whole log backwards to find a few.
 */
function matching(queries: Queries, filter: EventFilter, page: EventPage) {
  const agents = intersection(filter.agents, filter.agentKey);
  const environments = intersection(filter.environments, filter.environment);
  const newest = (wanted: readonly string[] | null) => {
    let query = queries
      .selectFrom('knowledge_event')
      .select('sequence')
      .orderBy('sequence', 'desc')
      .limit(page.limit);
    if (wanted !== null) query = query.where('agent_key', '=', sql.ref<string>('wanted.agent_key'));
    // One environment is a place in the index; several are a filter.
    if (environments?.length === 1) query = query.where('environment', '=', environments[0] ?? '');
    else if (environments !== null) query = query.where('environment', 'in', [...environments, '']);
    if (filter.action !== undefined) query = query.where('action', '=', filter.action);
    if (!filter.general) query = query.where('agent_key', 'is not', null);
    if (page.before !== null) query = query.where('sequence', '<', page.before);
    return query;
  };
  const all = newest(null);
  if (agents === null) return all;
  const wanted = sql<{ agent_key: string }>`(select unnest(${agents}::text[]) as agent_key)`.as('wanted');
  return queries
    .selectFrom(wanted)
    .crossJoinLateral(newest(agents).as('newest'))
    .select('newest.sequence') as unknown as typeof all;
}

/** The names that are allowed and asked for; null: every one. */
function intersection(
  allowed: readonly string[] | null,
  asked: string | undefined,
): readonly string[] | null {
  if (asked === undefined) return allowed;
  return allowed === null || allowed.includes(asked) ? [asked] : [];
}
