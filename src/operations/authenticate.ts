import { timingSafeEqual } from 'node:crypto';
import { sha256 } from '../core/checksum.ts';
import { KnowledgeError } from '../core/errors.ts';
import type { Caller } from '../core/permissions.ts';
import { findKey, touchKey } from '../store/api-keys.ts';
import type { Context } from './context.ts';
import { isExpired } from './manage-keys.ts';

/**
 * Who a bearer key belongs to. Throws `UNAUTHENTICATED` in the same words for a key that is garbled, unknown, wrong,
 * expired or revoked, after the same work (T1, T29).
 */
export async function authenticate(
  context: Pick<Context, 'database' | 'clock'>,
  bearer: string,
): Promise<Caller> {
  const { keyId, secret } = splitKey(bearer);
  const now = context.clock();
  const key = await context.database.read((queries) => findKey(queries, keyId));
  const matches = sameDigest(key?.secretHash ?? sha256(''), sha256(secret));
  if (key === null || !matches || key.revokedAt !== null || isExpired(key, now)) throw unauthenticated();
  if (key.lastUsedAt === null || now.getTime() - key.lastUsedAt.getTime() > 60_000) {
    // A full disk must not keep anybody from reading (F29): when a key was last used is worth a note, not a refusal.
    await context.database.read((queries) => touchKey(queries, keyId, now)).catch(() => undefined);
  }
  return {
    actorId: key.actorId,
    kind: 'key',
    scopes: new Set(key.scopes),
    agents: key.agents === null ? null : new Set(key.agents),
    environments: key.environments === null ? null : new Set(key.environments),
  };
}

/** The refusal of everybody without a valid credential. */
export function unauthenticated(): KnowledgeError {
  return new KnowledgeError(
    'UNAUTHENTICATED',
    'A valid key is needed: send it as "Authorization: Bearer <key>".',
  );
}

function splitKey(bearer: string): { keyId: string; secret: string } {
  const match = /^ak_([A-Za-z0-9]{1,32})_([A-Za-z0-9_-]{1,128})$/.exec(bearer);
  return { keyId: match?.[1] ?? '', secret: match?.[2] ?? '' };
}

function sameDigest(a: string, b: string): boolean {
  return timingSafeEqual(Buffer.from(a, 'hex'), Buffer.from(b, 'hex'));
}
