import { sha256 } from '../core/checksum.ts';
import { requireScope, type Caller, type Scope } from '../core/permissions.ts';
import { ensureActor } from '../store/actors.ts';
import {
  beginSession,
  forgetSessions,
  insertSession,
  listSessions,
  revokeSession,
  type StoredSession,
} from '../store/browser-sessions.ts';
import { appendEvent } from '../store/knowledge-events.ts';
import type { CallContext, Context } from './context.ts';
import { assertBounds, grantedScopes, type GrantRequest } from './grant.ts';

/** How long a link can be used, in milliseconds. */
export const linkLifetimeMs = 10 * 60_000;

/** How long a session lasts, in milliseconds. */
export const sessionLifetimeMs = 12 * 3_600_000;

/** How long sessions stay listed once they are over, in milliseconds. */
const keptMs = 30 * 86_400_000;

export interface SignInRequest extends GrantRequest {
  /** Who will be signed in: the name in the audit log and on the page. */
  readonly name: string;
}

/** Random parts of a link, made by the composition root: a public id, and 32 bytes, URL-safe. */
export interface SignInMaterial {
  readonly sessionId: string;
  readonly code: string;
}

export interface IssuedSignIn {
  readonly sessionId: string;
  readonly scopes: readonly Scope[];
  /** Until when the link can be used. */
  readonly usableUntil: Date;
}

/**
 * Makes a link that signs one browser in. Needs `admin`; throws `BAD_USER_INPUT` naming what was expected. Whoever is
 * signed in under a name is one actor in the audit log, however often.
 */
export async function issueSignIn(
  context: Pick<CallContext, 'database' | 'policy' | 'clock' | 'caller'>,
  request: SignInRequest,
  { sessionId, code }: SignInMaterial,
): Promise<IssuedSignIn> {
  requireScope(context.caller, 'admin');
  assertBounds(context.policy, request);
  const scopes = grantedScopes(request);
  const now = context.clock();
  const usableUntil = new Date(now.getTime() + linkLifetimeMs);
  const { name, agents, environments } = request;
  await context.database.transaction(async (queries) => {
    await forgetSessions(queries, new Date(now.getTime() - keptMs));
    const actorId = await ensureActor(queries, 'browser', name);
    const rights = { scopes, agents, environments };
    await insertSession(queries, {
      ...rights,
      sessionId,
      actorId,
      codeHash: sha256(code),
      codeExpiresAt: usableUntil,
    });
    await appendEvent(queries, {
      actorId: context.caller.actorId,
      action: 'key.created',
      subject: sessionId,
      details: { sessionId, ...rights },
    });
  });
  return { sessionId, scopes, usableUntil };
}

/** The link, for a server at this address, which ends without a slash. */
export function signInLink(url: string, { code }: Pick<SignInMaterial, 'code'>): string {
  return `${url}/sign-in?code=${code}`;
}

/**
 * Uses a link up: the session begins, and its secret is what the browser's cookie holds. Null where the link is unknown,
 * used, expired or revoked, which of them nobody is told (T31).
 */
export async function useSignIn(
  context: Pick<Context, 'database' | 'clock'>,
  { code, secret }: { readonly code: string; readonly secret: string },
): Promise<{ readonly sessionId: string } | null> {
  const now = context.clock();
  const expiresAt = new Date(now.getTime() + sessionLifetimeMs);
  const begin = { codeHash: sha256(code), secretHash: sha256(secret), now, expiresAt };
  const sessionId = await context.database.transaction((queries) => beginSession(queries, begin));
  return sessionId === null ? null : { sessionId };
}

/** Ends a browser's own session; one that has ended meanwhile stays ended. */
export async function signOut(
  context: Pick<Context, 'database' | 'clock'>,
  { actorId, credential }: Pick<Caller, 'actorId'> & { readonly credential: { readonly id: string } },
): Promise<void> {
  const { id: sessionId } = credential;
  await context.database.transaction(async (queries) => {
    if (!(await revokeSession(queries, sessionId, context.clock()))) return;
    await appendEvent(queries, {
      actorId,
      action: 'key.revoked',
      subject: sessionId,
      details: { sessionId },
    });
  });
}

/** Sessions of browsers and links that wait, newest first; never a secret. Needs `admin`. */
export async function readSessions(context: CallContext): Promise<StoredSession[]> {
  requireScope(context.caller, 'admin');
  return context.database.read(listSessions);
}
