import { timingSafeEqual } from 'node:crypto';
import { sha256 } from '../core/checksum.ts';
import { KnowledgeError } from '../core/errors.ts';
import type { Caller, Credential, Scope } from '../core/permissions.ts';
import { findKey, findLiveKeys, touchKey } from '../store/api-keys.ts';
import { findLiveSessions, findSessionBySecret, touchSession } from '../store/browser-sessions.ts';
import type { Queries } from '../store/database.ts';
import type { Context } from './context.ts';
import { isExpired } from './manage-keys.ts';

type AuthenticationContext = Pick<Context, 'database' | 'clock'>;

/**
 * Who a bearer key belongs to. Throws `UNAUTHENTICATED` in the same words for a key that is garbled, unknown, wrong,
 * expired or revoked, after the same work (T1, T29).
 */
export async function authenticate(context: AuthenticationContext, bearer: string): Promise<Caller> {
  const { keyId, secret } = splitKey(bearer);
  const now = context.clock();
  const key = await context.database.read((queries) => findKey(queries, keyId));
  const matches = sameDigest(key?.secretHash ?? sha256(''), sha256(secret));
  if (key === null || !matches || key.revokedAt !== null || isExpired(key, now)) throw unauthenticated();
  await noteUse(context, key.lastUsedAt, (queries) => touchKey(queries, keyId, now));
  return { kind: 'key', credential: { kind: 'key', id: keyId }, ...rightsOf(key) };
}

/** Whose session a browser's cookie names, and until when it lasts. */
export interface SignedIn {
  readonly caller: Caller & { readonly credential: Credential };
  readonly name: string | null;
  readonly expiresAt: Date;
}

/**
 * Who a browser's session belongs to, by the secret of its cookie; null where it is unknown, over or revoked. Read from
 * the database each time, so that a session that was ended opens nothing anywhere from that moment on.
 */
export async function authenticateSession(
  context: AuthenticationContext,
  secret: string,
): Promise<SignedIn | null> {
  const now = context.clock();
  // The hash is what is looked up: how long that takes tells nothing of a secret of 32 random bytes.
  const session = await context.database.read((queries) => findSessionBySecret(queries, sha256(secret)));
  if (session === null || session.revokedAt !== null) return null;
  if (session.expiresAt === null || session.expiresAt <= now) return null;
  const { sessionId, name, expiresAt } = session;
  await noteUse(context, session.lastUsedAt, (queries) => touchSession(queries, sessionId, now));
  const credential = { kind: 'session', id: sessionId } as const;
  return { caller: { kind: 'browser', credential, ...rightsOf(session) }, name, expiresAt };
}

/**
 * Those of many callers whose key or session is no longer valid: revoked, expired or ended since they were let in. Two
 * statements at most, for whoever keeps connections open; a caller without a credential never ends.
 */
export async function readEndedCredentials(
  context: AuthenticationContext,
  callers: readonly Caller[],
): Promise<readonly Caller[]> {
  const now = context.clock();
  const idsOf = (kind: Credential['kind']) => [
    ...new Set(callers.flatMap(({ credential }) => (credential?.kind === kind ? [credential.id] : []))),
  ];
  const live = await context.database.read(async (queries) => ({
    key: await findLiveKeys(queries, idsOf('key'), now),
    session: await findLiveSessions(queries, idsOf('session'), now),
  }));
  return callers.filter(({ credential }) => credential !== null && !live[credential.kind].has(credential.id));
}

/** The refusal of everybody without a valid credential. */
export function unauthenticated(): KnowledgeError {
  return new KnowledgeError(
    'UNAUTHENTICATED',
    'A valid key is needed: send it as "Authorization: Bearer <key>".',
  );
}

/** Notes once a minute that a credential was used. */
async function noteUse(
  context: AuthenticationContext,
  last: Date | null,
  note: (queries: Queries) => Promise<void>,
): Promise<void> {
  if (last !== null && context.clock().getTime() - last.getTime() <= 60_000) return;
  // A full disk must not keep anybody from reading (F29): when a credential was last used is worth a note, not a refusal.
  await context.database.read(note).catch(() => undefined);
}

function rightsOf(row: {
  readonly actorId: number;
  readonly scopes: readonly Scope[];
  readonly agents: readonly string[] | null;
  readonly environments: readonly string[] | null;
}): Pick<Caller, 'actorId' | 'scopes' | 'agents' | 'environments'> {
  return {
    actorId: row.actorId,
    scopes: new Set(row.scopes),
    agents: row.agents === null ? null : new Set(row.agents),
    environments: row.environments === null ? null : new Set(row.environments),
  };
}

function splitKey(bearer: string): { keyId: string; secret: string } {
  const match = /^ak_([A-Za-z0-9]{1,32})_([A-Za-z0-9_-]{1,128})$/.exec(bearer);
  return { keyId: match?.[1] ?? '', secret: match?.[2] ?? '' };
}

function sameDigest(a: string, b: string): boolean {
  return timingSafeEqual(Buffer.from(a, 'hex'), Buffer.from(b, 'hex'));
}
