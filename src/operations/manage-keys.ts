import { KnowledgeError } from '../core/errors.ts';
import { sha256 } from '../core/checksum.ts';
import { requireScope, type Scope } from '../core/permissions.ts';
import { addActor } from '../store/actors.ts';
import { findKey, insertKey, listKeys, revokeKey, type StoredKey } from '../store/api-keys.ts';
import { findSession, revokeSession } from '../store/browser-sessions.ts';
import type { Queries } from '../store/database.ts';
import { appendEvent } from '../store/knowledge-events.ts';
import type { CallContext, Context } from './context.ts';
import { assertBounds, grantedScopes, type GrantRequest } from './grant.ts';

export interface KeyRequest extends GrantRequest {
  readonly name: string;
  readonly expiresAt: Date | null;
}

/** Random parts of a key, made by the composition root: a public id and a secret, both URL-safe. */
export interface KeyMaterial {
  readonly keyId: string;
  readonly secret: string;
}

export interface CreatedKey {
  readonly keyId: string;
  /** The whole key, `ak_<id>_<secret>`: shown once, stored nowhere. */
  readonly key: string;
  readonly scopes: readonly Scope[];
}

/** Makes a key. Needs `admin`; throws `BAD_USER_INPUT` naming what was expected. */
export async function createKey(
  context: CallContext,
  request: KeyRequest,
  material: KeyMaterial,
): Promise<CreatedKey> {
  requireScope(context.caller, 'admin');
  assertBounds(context.policy, request);
  return context.database.transaction((queries) =>
    addKey(queries, { request, material, actorId: context.caller.actorId }),
  );
}

/**
 * Makes an admin key when there is no live one, and answers it; null when there is one. Run under the migration lock,
 * so that of N processes that start at once one makes it.
 */
export async function ensureAdminKey(
  context: Context,
  systemActorId: number,
  material: KeyMaterial,
): Promise<CreatedKey | null> {
  return context.database.transaction(async (queries) => {
    const live = (await listKeys(queries)).some(
      (key) => key.scopes.includes('admin') && key.revokedAt === null && !isExpired(key, context.clock()),
    );
    if (live) return null;
    const request = { name: 'admin', scopes: ['admin'], agents: null, environments: null, expiresAt: null };
    return addKey(queries, { request, material, actorId: systemActorId });
  });
}

/** Every key with its bounds and fate, newest first; never a secret. Needs `admin`. */
export async function readKeys(context: CallContext): Promise<Omit<StoredKey, 'secretHash'>[]> {
  requireScope(context.caller, 'admin');
  const keys = await context.database.read(listKeys);
  return keys.map(({ secretHash: _secretHash, ...key }) => key);
}

/**
 * Revokes a key, or ends a browser's session, at once. Needs `admin`; throws `NOT_FOUND`, and `CONFLICT` when it is
 * revoked already.
 */
export async function withdrawKey(context: CallContext, keyId: string): Promise<void> {
  requireScope(context.caller, 'admin');
  const now = context.clock();
  await context.database.transaction(async (queries) => {
    const isKey = (await findKey(queries, keyId)) !== null;
    if (!isKey && (await findSession(queries, keyId)) === null)
      throw new KnowledgeError('NOT_FOUND', `No key or session ${JSON.stringify(keyId.slice(0, 40))}.`);
    const revoke = isKey ? revokeKey : revokeSession;
    if (!(await revoke(queries, keyId, now))) {
      throw new KnowledgeError('CONFLICT', `The ${isKey ? 'key' : 'session'} ${keyId} is revoked already.`);
    }
    await appendEvent(queries, {
      actorId: context.caller.actorId,
      action: 'key.revoked',
      subject: keyId,
      details: isKey ? { keyId } : { sessionId: keyId },
    });
  });
}

/** A key counts until its last moment. */
export function isExpired(key: Pick<StoredKey, 'expiresAt'>, now: Date): boolean {
  return key.expiresAt !== null && key.expiresAt <= now;
}

async function addKey(
  queries: Queries,
  input: { readonly request: KeyRequest; readonly material: KeyMaterial; readonly actorId: number },
): Promise<CreatedKey> {
  const { request, material } = input;
  const granted = grantedScopes(request);
  const { keyId, secret } = material;
  const actorId = await addActor(queries, 'key', request.name);
  await insertKey(queries, { ...request, actorId, keyId, secretHash: sha256(secret), scopes: granted });
  await appendEvent(queries, {
    actorId: input.actorId,
    action: 'key.created',
    subject: keyId,
    details: { keyId, scopes: granted, agents: request.agents, environments: request.environments },
  });
  return { keyId, key: `ak_${keyId}_${secret}`, scopes: granted };
}
