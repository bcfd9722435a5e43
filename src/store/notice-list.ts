import { sql } from 'kysely';
import type { NoticeType } from '../core/notice.ts';
import type { Queries } from './database.ts';
import type { NoticeState } from './notices.ts';

/** A notice as a person looks at it. */
export interface NoticeRow {
  readonly id: string;
  readonly type: NoticeType;
  readonly agentKey: string | null;
  readonly environment: string | null;
  readonly sequence: number | null;
  readonly state: NoticeState;
  readonly attempts: number;
  /** When it is tried next; of no meaning where it has ended. */
  readonly dueAt: Date;
  /** Where the last attempt went; null before the first one. */
  readonly host: string | null;
  readonly lastError: string | null;
  readonly createdAt: Date;
  readonly finishedAt: Date | null;
}

/** How the sending of notices goes. */
export interface NoticeTotals {
  readonly waiting: number;
  readonly oldestWaitingSeconds: number;
  /** Why the last attempt at one that waits failed; null where none has. */
  readonly waitingError: string | null;
  readonly dead: number;
  readonly deadError: string | null;
  /** Events that no notices have been made of yet; 0 where none ever were. */
  readonly untoldEvents: number;
}

/** Notices, newest first. */
export async function listNotices(
  queries: Queries,
  { state, limit }: { readonly state: NoticeState | null; readonly limit: number },
): Promise<NoticeRow[]> {
  let query = queries.selectFrom('notice').selectAll().orderBy('created_at', 'desc').orderBy('id', 'desc');
  if (state !== null) query = query.where('state', '=', state);
  const rows = await query.limit(limit).execute();
  return rows.map((row) => ({
    id: row.id,
    type: row.type as NoticeType,
    agentKey: row.agent_key,
    environment: row.environment,
    sequence: row.event_sequence,
    state: row.state as NoticeState,
    attempts: row.attempts,
    dueAt: row.due_at,
    host: row.host,
    lastError: row.last_error,
    createdAt: row.created_at,
    finishedAt: row.finished_at,
  }));
}

/** The state of one notice; null where there is none of this id. */
export async function findNoticeState(queries: Queries, id: string): Promise<NoticeState | null> {
  const row = await queries.selectFrom('notice').select('state').where('id', '=', id).executeTakeFirst();
  return row ? (row.state as NoticeState) : null;
}

/** Counts what waits and what is dead, each with the error told last. */
export async function readNoticeTotals(queries: Queries): Promise<NoticeTotals> {
  const { rows } = await sql<NoticeTotals>`
    select
      (select count(*)::integer from notice where state = 'WAITING') as waiting,
      coalesce((select extract(epoch from clock_timestamp() - min(created_at))::float8
        from notice where state = 'WAITING'), 0) as "oldestWaitingSeconds",
      (select last_error from notice where state = 'WAITING' and last_error is not null
        order by due_at desc limit 1) as "waitingError",
      (select count(*)::integer from notice where state = 'DEAD') as dead,
      (select last_error from notice where state = 'DEAD' order by finished_at desc limit 1) as "deadError",
      coalesce((select h.sequence - c.sequence from event_head h cross join notice_cursor c), 0)::integer as "untoldEvents"
  `.execute(queries);
  const [totals] = rows;
  if (totals === undefined) throw new TypeError('A statement of subqueries always has a row.');
  return { ...totals, oldestWaitingSeconds: Math.max(0, Math.round(totals.oldestWaitingSeconds)) };
}
