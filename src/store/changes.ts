import { sql } from 'kysely';
import type { EventAction } from '../core/events.ts';
import { versionName } from '../core/package.ts';
import type { Queries } from './database.ts';

export const changeKinds = ['LOADED', 'ACTIVATED', 'HELD', 'RELEASED'] as const;
export type ChangeKind = (typeof changeKinds)[number];

/** One capture, move of the pointer, hold or release of a package, as the audit log tells it. */
export interface Change {
  readonly kind: ChangeKind;
  readonly agentKey: string;
  readonly environment: string;
  /** What was stored or activated; of a hold or release, what was active then. */
  readonly knowledgeVersion: string | null;
  readonly checksum: string | null;
  /** Whether the pointer moved. */
  readonly activated: boolean;
  /** The package's generation right after it. */
  readonly generation: number;
  /** Its place in the audit log. */
  readonly sequence: number;
  readonly at: Date;
  /** `<kind>:<row id>` and, where it has not been erased, the name of who did it. */
  readonly actorRef: string;
  readonly actorName: string | null;
}

const kinds: ReadonlyMap<EventAction, ChangeKind> = new Map([
  ['agent.knowledge_loaded', 'LOADED'],
  ['agent.knowledge_rollback', 'ACTIVATED'],
  ['agent.knowledge_held', 'HELD'],
  ['agent.knowledge_released', 'RELEASED'],
]);

export interface ChangeRange {
  /** Exclusive. */
  readonly after: number;
  /** Inclusive. */
  readonly upTo: number;
  readonly limit: number;
  /** Null: every agent, every environment. */
  readonly agentKey: string | null;
  readonly environment: string | null;
}

/** The number of the log's last event. Everything up to it is visible to whoever reads afterwards (G13). */
export async function readHead(queries: Queries): Promise<number> {
  const { rows } = await sql<{ sequence: number }>`select sequence from event_head`.execute(queries);
  const [head] = rows;
  if (head === undefined) throw new Error('The audit log has no head.');
  return head.sequence;
}

interface ChangeRow {
  readonly sequence: number;
  readonly at_micros: number;
  readonly action: EventAction;
  readonly agent_key: string;
  readonly environment: string;
  readonly activated: boolean;
  readonly generation: number | null;
  readonly number: number | null;
  readonly checksum: string | null;
  readonly actor_ref: string;
  readonly actor_name: string | null;
}

/**
 * The changes of a range, oldest first. A hold and a release name no version, so what was active and the generation
 * are those of the last move of the pointer before them.
 */
export async function readChanges(queries: Queries, range: ChangeRange): Promise<Change[]> {
  const only = sql.join(
    [
      range.agentKey === null ? sql`true` : sql`e.agent_key = ${range.agentKey}`,
      range.environment === null ? sql`true` : sql`e.environment = ${range.environment}`,
    ],
    sql` and `,
  );
  const { rows } = await sql<ChangeRow>`
    select e.sequence, e.at_micros, e.action, e.agent_key, e.environment, e.actor_ref, actor_name.name as actor_name,
      coalesce(e.action = 'agent.knowledge_rollback' or (e.details::json ->> 'activated')::boolean, false) as activated,
      (coalesce(e.details::json ->> 'generation', moved.details ->> 'generation'))::integer as generation,
      v.number, v.checksum
    from knowledge_event e
    left join actor_name on actor_name.actor_id = e.actor_id
    left join lateral (
      select m.details::json as details from knowledge_event m
      where e.action in ('agent.knowledge_held', 'agent.knowledge_released')
        and m.agent_key = e.agent_key and m.environment = e.environment and m.sequence < e.sequence
        and (m.action = 'agent.knowledge_rollback'
          or m.action = 'agent.knowledge_loaded' and (m.details::json ->> 'activated')::boolean)
      order by m.sequence desc limit 1
    ) moved on true
    left join package_version v on v.agent_key = e.agent_key and v.environment = e.environment
      and v.number = substr(coalesce(e.details::json ->> 'to', e.details::json ->> 'version',
        moved.details ->> 'to', moved.details ->> 'version'), 2)::integer
    where e.sequence > ${range.after} and e.sequence <= ${range.upTo} and e.action in (${sql.join([...kinds.keys()])})
      and ${only}
    order by e.sequence limit ${range.limit}
  `.execute(queries);
  return rows.map(toChange);
}

function toChange(row: ChangeRow): Change {
  const kind = kinds.get(row.action);
  if (kind === undefined) throw new Error(`${row.action} is no change of a package.`);
  return {
    kind,
    agentKey: row.agent_key,
    environment: row.environment,
    knowledgeVersion: row.number === null ? null : versionName(row.number),
    checksum: row.checksum,
    activated: row.activated,
    generation: row.generation ?? 0,
    sequence: row.sequence,
    at: new Date(Math.floor(row.at_micros / 1000)),
    actorRef: row.actor_ref,
    actorName: row.actor_name,
  };
}
