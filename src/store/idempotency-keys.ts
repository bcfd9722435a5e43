import { sql } from 'kysely';
import { KnowledgeError } from '../core/errors.ts';
import type { Sha256 } from '../core/package.ts';
import type { Queries } from './database.ts';

export interface IdempotencyName {
  readonly actorId: number;
  readonly mutation: string;
  /** 1–128 printable ASCII characters. */
  readonly key: string;
  /** Of the arguments, so that a key used for something else is noticed. */
  readonly requestHash: Sha256;
}

/**
 * The reference that an earlier call with this key left, or null for the first one, which then holds the key until its
 * transaction ends: a second call at the same moment waits for it (F45). Kept for 7 days.
 *
 * Throws `CONFLICT` when the key was used with other arguments.
 */
export async function takeIdempotencyKey(queries: Queries, name: IdempotencyName): Promise<string | null> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`${name.actorId}:${name.mutation}:${name.key}`}, 1))`.execute(
    queries,
  );
  const row = await queries
    .selectFrom('idempotency_key')
    .select(['request_hash', 'reference'])
    .where('actor_id', '=', name.actorId)
    .where('mutation', '=', name.mutation)
    .where('key', '=', name.key)
    .executeTakeFirst();
  if (!row) return null;
  if (row.request_hash === name.requestHash) return row.reference;
  throw new KnowledgeError(
    'CONFLICT',
    `The idempotency key was used for ${name.mutation} with other arguments; use a new key for a new request.`,
  );
}

/** Leaves the effect's reference under the key, in the transaction of the effect; failures leave nothing. */
export async function keepIdempotencyKey(
  queries: Queries,
  name: IdempotencyName,
  reference: string,
): Promise<void> {
  await queries
    .insertInto('idempotency_key')
    .values({
      actor_id: name.actorId,
      mutation: name.mutation,
      key: name.key,
      request_hash: name.requestHash,
      reference,
    })
    .execute();
}

/** Forgets keys older than 7 days. */
export async function forgetOldKeys(queries: Queries): Promise<void> {
  await queries
    .deleteFrom('idempotency_key')
    .where('created_at', '<', sql<Date>`clock_timestamp() - interval '7 days'`)
    .execute();
}
