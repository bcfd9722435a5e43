import { sql } from 'kysely';
import type { Queries } from './database.ts';

/** The last word of the audit log on a source. */
export interface SourceEvent {
  readonly action: 'agent.source_lost' | 'agent.source_returned';
  readonly details: Readonly<Record<string, unknown>>;
}

/**
 * Lets one transaction at a time write about sources, so that of several daemons on one folder one alarms, and reads
 * what the log last says of this one; null when it says nothing.
 */
export async function lockSourceEvents(queries: Queries, subject: string): Promise<SourceEvent | null> {
  await sql`select pg_advisory_xact_lock(hashtextextended('agent_knowledge source events', 0))`.execute(
    queries,
  );
  const row = await queries
    .selectFrom('knowledge_event')
    .select(['action', 'details'])
    .where('action', 'in', ['agent.source_lost', 'agent.source_returned'])
    .where('subject', '=', subject)
    .orderBy('sequence', 'desc')
    .limit(1)
    .executeTakeFirst();
  if (row === undefined) return null;
  return {
    action: row.action as SourceEvent['action'],
    details: JSON.parse(row.details) as SourceEvent['details'],
  };
}
