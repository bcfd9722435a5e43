import type { Scope } from '../core/permissions.ts';
import type { Queries } from './database.ts';

export interface StoredKey {
  readonly actorId: number;
  readonly keyId: string;
  readonly name: string | null;
  readonly secretHash: string;
  readonly scopes: readonly Scope[];
  readonly agents: readonly string[] | null;
  readonly environments: readonly string[] | null;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
  readonly lastUsedAt: Date | null;
}

export interface NewKey {
  readonly actorId: number;
  readonly keyId: string;
  /** SHA-256 of the secret, hex; the secret itself is never stored (T1). */
  readonly secretHash: string;
  readonly scopes: readonly Scope[];
  readonly agents: readonly string[] | null;
  readonly environments: readonly string[] | null;
  readonly expiresAt: Date | null;
}

export async function insertKey(queries: Queries, key: NewKey): Promise<void> {
  await queries
    .insertInto('api_key')
    .values({
      actor_id: key.actorId,
      key_id: key.keyId,
      secret_hash: key.secretHash,
      scopes: [...key.scopes],
      agents: key.agents === null ? null : [...key.agents],
      environments: key.environments === null ? null : [...key.environments],
      expires_at: key.expiresAt,
    })
    .execute();
}

export async function findKey(queries: Queries, keyId: string): Promise<StoredKey | null> {
  const row = await selectKeys(queries).where('key_id', '=', keyId).executeTakeFirst();
  return row ? toStoredKey(row) : null;
}

/** Every key ever made, newest first. */
export async function listKeys(queries: Queries): Promise<StoredKey[]> {
  const rows = await selectKeys(queries).orderBy('api_key.actor_id', 'desc').execute();
  return rows.map(toStoredKey);
}

/** Revokes from now on; true when the key was not revoked before. */
export async function revokeKey(queries: Queries, keyId: string, at: Date): Promise<boolean> {
  const result = await queries
    .updateTable('api_key')
    .set({ revoked_at: at })
    .where('key_id', '=', keyId)
    .where('revoked_at', 'is', null)
    .executeTakeFirst();
  return Number(result.numUpdatedRows) === 1;
}

/** Which of these keys are live at this moment. */
export async function findLiveKeys(
  queries: Queries,
  keyIds: readonly string[],
  now: Date,
): Promise<ReadonlySet<string>> {
  if (keyIds.length === 0) return new Set();
  const rows = await queries
    .selectFrom('api_key')
    .select('key_id')
    .where('key_id', 'in', [...keyIds])
    .where('revoked_at', 'is', null)
    .where((where) => where.or([where('expires_at', 'is', null), where('expires_at', '>', now)]))
    .execute();
  return new Set(rows.map((row) => row.key_id));
}

/** Notes when a key was last used. */
export async function touchKey(queries: Queries, keyId: string, at: Date): Promise<void> {
  await queries.updateTable('api_key').set({ last_used_at: at }).where('key_id', '=', keyId).execute();
}

function selectKeys(queries: Queries) {
  return queries
    .selectFrom('api_key')
    .leftJoin('actor_name', 'actor_name.actor_id', 'api_key.actor_id')
    .selectAll('api_key')
    .select('actor_name.name');
}

type KeyRow = Awaited<ReturnType<ReturnType<typeof selectKeys>['execute']>>[number];

function toStoredKey(row: KeyRow): StoredKey {
  return {
    actorId: row.actor_id,
    keyId: row.key_id,
    name: row.name,
    secretHash: row.secret_hash,
    scopes: row.scopes as Scope[],
    agents: row.agents,
    environments: row.environments,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
    lastUsedAt: row.last_used_at,
  };
}
