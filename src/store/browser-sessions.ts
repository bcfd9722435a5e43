import type { Scope } from '../core/permissions.ts';
import type { Queries } from './database.ts';

/** A one-time link and the session that it began, by hashes only (T31). */
export interface StoredSession {
  readonly sessionId: string;
  readonly actorId: number;
  readonly name: string | null;
  readonly scopes: readonly Scope[];
  readonly agents: readonly string[] | null;
  readonly environments: readonly string[] | null;
  readonly createdAt: Date;
  /** Until when the link can be used. */
  readonly codeExpiresAt: Date;
  /** When the link was used; null where it was not. */
  readonly signedInAt: Date | null;
  /** When the session ends by itself; null while it has not begun. */
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
  readonly lastUsedAt: Date | null;
}

export interface NewSession {
  readonly sessionId: string;
  readonly actorId: number;
  readonly codeHash: string;
  readonly codeExpiresAt: Date;
  readonly scopes: readonly Scope[];
  readonly agents: readonly string[] | null;
  readonly environments: readonly string[] | null;
}

export async function insertSession(queries: Queries, session: NewSession): Promise<void> {
  await queries
    .insertInto('browser_session')
    .values({
      session_id: session.sessionId,
      actor_id: session.actorId,
      code_hash: session.codeHash,
      code_expires_at: session.codeExpiresAt,
      scopes: [...session.scopes],
      agents: session.agents === null ? null : [...session.agents],
      environments: session.environments === null ? null : [...session.environments],
    })
    .execute();
}

/**
 * Uses up a link: the session begins with this secret. Answers its id; null where the link is unknown, used, expired or
 * revoked. One statement, so that of two who race exactly one gets in.
 */
export async function beginSession(
  queries: Queries,
  begin: {
    readonly codeHash: string;
    readonly secretHash: string;
    readonly now: Date;
    readonly expiresAt: Date;
  },
): Promise<string | null> {
  const row = await queries
    .updateTable('browser_session')
    .set({ secret_hash: begin.secretHash, signed_in_at: begin.now, expires_at: begin.expiresAt })
    .where('code_hash', '=', begin.codeHash)
    .where('secret_hash', 'is', null)
    .where('revoked_at', 'is', null)
    .where('code_expires_at', '>', begin.now)
    .returning('session_id')
    .executeTakeFirst();
  return row?.session_id ?? null;
}

/** The session with this secret, also one that has ended; null where none has it. */
export async function findSessionBySecret(
  queries: Queries,
  secretHash: string,
): Promise<StoredSession | null> {
  const row = await selectSessions(queries).where('secret_hash', '=', secretHash).executeTakeFirst();
  return row ? toStoredSession(row) : null;
}

export async function findSession(queries: Queries, sessionId: string): Promise<StoredSession | null> {
  const row = await selectSessions(queries).where('session_id', '=', sessionId).executeTakeFirst();
  return row ? toStoredSession(row) : null;
}

/** Sessions and links that wait, newest first. */
export async function listSessions(queries: Queries): Promise<StoredSession[]> {
  const rows = await selectSessions(queries).orderBy('created_at', 'desc').execute();
  return rows.map(toStoredSession);
}

/** Which of these sessions are live at this moment. */
export async function findLiveSessions(
  queries: Queries,
  sessionIds: readonly string[],
  now: Date,
): Promise<ReadonlySet<string>> {
  if (sessionIds.length === 0) return new Set();
  const rows = await queries
    .selectFrom('browser_session')
    .select('session_id')
    .where('session_id', 'in', [...sessionIds])
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', now)
    .execute();
  return new Set(rows.map((row) => row.session_id));
}

/** Ends a session, or a link that waits; true when it had not ended before. */
export async function revokeSession(queries: Queries, sessionId: string, at: Date): Promise<boolean> {
  const result = await queries
    .updateTable('browser_session')
    .set({ revoked_at: at })
    .where('session_id', '=', sessionId)
    .where('revoked_at', 'is', null)
    .executeTakeFirst();
  return Number(result.numUpdatedRows) === 1;
}

/** Notes when a session was last used. */
export async function touchSession(queries: Queries, sessionId: string, at: Date): Promise<void> {
  await queries
    .updateTable('browser_session')
    .set({ last_used_at: at })
    .where('session_id', '=', sessionId)
    .execute();
}

/** Forgets links that nobody used and sessions that were over before this moment; the audit log keeps what it says of them. */
export async function forgetSessions(queries: Queries, before: Date): Promise<void> {
  await queries
    .deleteFrom('browser_session')
    .where((where) =>
      where.or([
        where('expires_at', '<', before),
        where('revoked_at', '<', before),
        where.and([where('expires_at', 'is', null), where('code_expires_at', '<', before)]),
      ]),
    )
    .execute();
}

function selectSessions(queries: Queries) {
  return queries
    .selectFrom('browser_session')
    .leftJoin('actor_name', 'actor_name.actor_id', 'browser_session.actor_id')
    .selectAll('browser_session')
    .select('actor_name.name');
}

type SessionRow = Awaited<ReturnType<ReturnType<typeof selectSessions>['execute']>>[number];

function toStoredSession(row: SessionRow): StoredSession {
  return {
    sessionId: row.session_id,
    actorId: row.actor_id,
    name: row.name,
    scopes: row.scopes as Scope[],
    agents: row.agents,
    environments: row.environments,
    createdAt: row.created_at,
    codeExpiresAt: row.code_expires_at,
    signedInAt: row.signed_in_at,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
    lastUsedAt: row.last_used_at,
  };
}
