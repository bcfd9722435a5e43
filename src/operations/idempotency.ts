import canonicalize from 'canonicalize';
import { sha256 } from '../core/checksum.ts';
import { KnowledgeError } from '../core/errors.ts';
import { reach } from '../core/failpoint.ts';
import type { Queries } from '../store/database.ts';
import { keepIdempotencyKey, takeIdempotencyKey } from '../store/idempotency-keys.ts';
import type { PackageName } from '../store/job-queue.ts';
import type { CallContext } from './context.ts';
import { subjectOf } from './names.ts';

/**
 * Runs a mutation's transaction, once per idempotency key where the caller gives one: `work` answers a reference to its
 * effect, which is kept in the same transaction and given again to the same call later. Failures keep nothing (G8).
 */
export async function once(
  context: CallContext,
  { mutation, input, subject }: Mutation,
  work: (queries: Queries) => Promise<string>,
): Promise<string> {
  const { idempotencyKey, ...request } = input;
  const turn = subjectOf(subject);
  if (typeof idempotencyKey !== 'string') return commit(context, work, turn);
  assertKey(idempotencyKey);
  const name = {
    actorId: context.caller.actorId,
    mutation,
    key: idempotencyKey,
    // With the environment that is meant: left out and named, the default one is the same.
    requestHash: sha256(canonicalize({ ...withoutAbsent(request), ...subject }) as string),
  };
  const keeping = async (queries: Queries): Promise<string> => {
    const earlier = await takeIdempotencyKey(queries, name);
    if (earlier !== null) return earlier;
    const reference = await work(queries);
    await keepIdempotencyKey(queries, name, reference);
    return reference;
  };
  return commit(context, keeping, turn);
}

async function commit(
  context: CallContext,
  work: (queries: Queries) => Promise<string>,
  turn: string,
): Promise<string> {
  const reference = await context.database.transaction(async (queries) => {
    const made = await work(queries);
    reach('before commit');
    return made;
  }, turn);
  reach('after commit');
  return reference;
}

export interface Mutation {
  readonly mutation: string;
  /** The arguments as they were given. */
  readonly input: { readonly idempotencyKey?: string | null | undefined };
  /** The package it will lock. */
  readonly subject: PackageName;
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
