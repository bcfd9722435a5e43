import canonicalize from 'canonicalize';
import { sha256 } from '../core/checksum.ts';
import { KnowledgeError } from '../core/errors.ts';
import type { Queries } from '../store/database.ts';
import { keepIdempotencyKey, takeIdempotencyKey } from '../store/idempotency-keys.ts';
import type { CallContext } from './context.ts';

/**
 * Runs a mutation's transaction, once per idempotency key where the caller gives one: `work` answers a reference to its
 * effect, which is kept in the same transaction and given again to the same call later. Failures keep nothing (G8).
 */
export async function once(
  context: CallContext,
  mutation: string,
  input: { readonly idempotencyKey?: string | null | undefined },
  work: (queries: Queries) => Promise<string>,
): Promise<string> {
  const { idempotencyKey, ...request } = input;
  if (typeof idempotencyKey !== 'string') return context.database.transaction(work);
  assertKey(idempotencyKey);
  const name = {
    actorId: context.caller.actorId,
    mutation,
    key: idempotencyKey,
    requestHash: sha256(canonicalize(withoutAbsent(request)) as string),
  };
  return context.database.transaction(async (queries) => {
    const earlier = await takeIdempotencyKey(queries, name);
    if (earlier !== null) return earlier;
    const reference = await work(queries);
    await keepIdempotencyKey(queries, name, reference);
    return reference;
  });
}

function assertKey(key: string): void {
  if (/^[\x20-\x7e]{1,128}$/.test(key)) return;
  throw new KnowledgeError('BAD_USER_INPUT', 'idempotencyKey must be 1 to 128 printable ASCII characters.');
}

/** Left out and null mean the same to every mutation, so they must hash the same. */
function withoutAbsent(request: object): object {
  return Object.fromEntries(
    Object.entries(request).filter(([, value]) => value !== null && value !== undefined),
  );
}
