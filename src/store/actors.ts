import { sql } from 'kysely';
import type { Caller } from '../core/permissions.ts';
import type { Queries } from './database.ts';

/** Adds an actor with a name that can be erased later; answers its row id. */
export async function addActor(queries: Queries, kind: Caller['kind'], name: string): Promise<number> {
  const actor = await queries.insertInto('actor').values({ kind }).returning('id').executeTakeFirstOrThrow();
  await queries.insertInto('actor_name').values({ actor_id: actor.id, name }).execute();
  return actor.id;
}

/**
 * The row id of a nameable actor that is no key (the daemon, a person at the command line), added when it is new. Two
 * processes that ask at once get the same one.
 */
export async function ensureActor(queries: Queries, kind: Caller['kind'], name: string): Promise<number> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`actor:${kind}:${name}`}, 0))`.execute(queries);
  const found = await queries
    .selectFrom('actor')
    .innerJoin('actor_name', 'actor_name.actor_id', 'actor.id')
    .select('actor.id')
    .where('actor.kind', '=', kind)
    .where('actor_name.name', '=', name)
    .orderBy('actor.id')
    .executeTakeFirst();
  return found ? found.id : addActor(queries, kind, name);
}
