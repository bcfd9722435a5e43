import { sql } from 'kysely';
import type { NoticeType } from '../core/notice.ts';
import type { Queries } from './database.ts';

/** `WAITING` to be sent, `DELIVERED`, or `DEAD`: nobody tries any more until a person says so. */
export type NoticeState = 'WAITING' | 'DELIVERED' | 'DEAD';

export interface NewNotice {
  /** What the receiver knows it by, the same at every attempt. */
  readonly id: string;
  readonly type: NoticeType;
  readonly agentKey: string | null;
  readonly environment: string | null;
  /** The event it tells of; null for what is no event. */
  readonly eventSequence: number | null;
  readonly body: string;
}

/** A notice that one process may send now. */
export interface ClaimedNotice {
  readonly id: string;
  readonly type: NoticeType;
  readonly body: string;
  /** Which attempt this is, the first being 1. */
  readonly attempt: number;
}

/** Seconds that a claim holds: longer than any attempt, so that who is killed in one delays the next by no more. */
const claimSeconds = 30;

/** Keeps notices, to be sent at once. */
export async function insertNotices(queries: Queries, notices: readonly NewNotice[]): Promise<void> {
  if (notices.length === 0) return;
  await queries
    .insertInto('notice')
    .values(
      notices.map((notice) => ({
        id: notice.id,
        type: notice.type,
        agent_key: notice.agentKey,
        environment: notice.environment,
        event_sequence: notice.eventSequence,
        body: notice.body,
      })),
    )
    .execute();
}

/** The notices whose time has come, the longest overdue first. */
export async function listDueNotices(queries: Queries, limit: number): Promise<string[]> {
  const rows = await queries
    .selectFrom('notice')
    .select('id')
    .where('state', '=', 'WAITING')
    .where('due_at', '<=', sql<Date>`clock_timestamp()`)
    .orderBy('due_at')
    .orderBy('id')
    .limit(limit)
    .execute();
  return rows.map((row) => row.id);
}

/** Takes a notice for one attempt, which counts from now on; null where it is not due, or another process has it. */
export async function claimNotice(queries: Queries, id: string, host: string): Promise<ClaimedNotice | null> {
  const row = await queries
    .updateTable('notice')
    .set({ attempts: sql`attempts + 1`, due_at: inSeconds(claimSeconds), host })
    .where('id', '=', id)
    .where('state', '=', 'WAITING')
    .where('due_at', '<=', sql<Date>`clock_timestamp()`)
    .returning(['type', 'body', 'attempts'])
    .executeTakeFirst();
  return row ? { id, type: row.type as NoticeType, body: row.body, attempt: row.attempts } : null;
}

/** Notes that the receiver has it, whoever else may have taken it meanwhile. */
export async function markDelivered(queries: Queries, { id }: ClaimedNotice): Promise<void> {
  await queries
    .updateTable('notice')
    .set({ state: 'DELIVERED', finished_at: sql`clock_timestamp()`, last_error: null })
    .where('id', '=', id)
    .where('state', '<>', 'DELIVERED')
    .execute();
}

/** Has a notice tried again later. */
export async function postponeNotice(
  queries: Queries,
  claimed: ClaimedNotice,
  { afterSeconds, error }: { readonly afterSeconds: number; readonly error: string },
): Promise<void> {
  await ofClaim(queries, claimed)
    .set({ due_at: inSeconds(afterSeconds), last_error: error })
    .execute();
}

/** Gives up on a notice. */
export async function buryNotice(queries: Queries, claimed: ClaimedNotice, error: string): Promise<void> {
  await ofClaim(queries, claimed)
    .set({ state: 'DEAD', finished_at: sql`clock_timestamp()`, last_error: error })
    .execute();
}

/** Puts a notice back as if it had not been taken. */
export async function putBackNotice(queries: Queries, claimed: ClaimedNotice): Promise<void> {
  await ofClaim(queries, claimed)
    .set({ attempts: claimed.attempt - 1, due_at: inSeconds(0) })
    .execute();
}

/** Forgets what was delivered long ago; the dead stay until a person has seen to them. */
export async function forgetDeliveredNotices(queries: Queries, days: number): Promise<void> {
  await queries
    .deleteFrom('notice')
    .where('state', '=', 'DELIVERED')
    .where('finished_at', '<', sql<Date>`clock_timestamp() - make_interval(days => ${days})`)
    .execute();
}

/** Which notices are meant: one, or all that are dead. */
export type NoticeChoice = { readonly id: string } | { readonly allDead: true };

/** Has notices that were not delivered sent again from their first attempt on; answers their ids. */
export async function reviveNotices(queries: Queries, choice: NoticeChoice): Promise<string[]> {
  const update = queries
    .updateTable('notice')
    .set({ state: 'WAITING', attempts: 0, due_at: inSeconds(0), finished_at: null });
  const chosen =
    'id' in choice
      ? update.where('id', '=', choice.id).where('state', '<>', 'DELIVERED')
      : update.where('state', '=', 'DEAD');
  const rows = await chosen.returning('id').execute();
  return rows.map((row) => row.id);
}

/** The row as this claim has left it: another process may have taken it after this one slept for too long. */
function ofClaim(queries: Queries, { id, attempt }: ClaimedNotice) {
  return queries
    .updateTable('notice')
    .where('id', '=', id)
    .where('state', '=', 'WAITING')
    .where('attempts', '=', attempt);
}

function inSeconds(seconds: number) {
  return sql<Date>`clock_timestamp() + make_interval(secs => ${seconds})`;
}
