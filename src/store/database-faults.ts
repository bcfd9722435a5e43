import { sql } from 'kysely';
import type { Queries } from './database.ts';

/** Every rule of the migrations that is a trigger; a missing one is as bad as one that is switched off. */
const expectedTriggers = [
  'event_append',
  'event_notify',
  'package_insert',
  'package_update',
  'package_delete',
  'package_truncate',
  'package_pointer_has_event',
  'package_number_is_used',
  'version_insert',
  'version_is_whole',
  'files_are_whole',
  'session_update',
  ...['blob', 'package_version', 'version_file', 'knowledge_event', 'registry_snapshot'].flatMap((fact) => [
    `${fact}_is_immutable`,
    `${fact}_is_append_only`,
    `${fact}_is_kept`,
  ]),
];

/**
 * What is wrong with the server or this connection's rights, each as a sentence naming it: settings that lose
 * acknowledged writes, a role that could rewrite facts, rules that are missing or switched off (G3, G7, F33).
 */
export async function findDatabaseFaults(queries: Queries): Promise<readonly string[]> {
  const { rows } = await sql<{ fault: string }>`
    select 'setting ' || name || ' is off: an acknowledged version could be lost' as fault
      from pg_settings where name in ('fsync', 'full_page_writes', 'synchronous_commit') and setting = 'off'
    union all
    select 'the connection acts as a superuser: the append-only rules cannot hold' from pg_roles
      where rolname = current_user and rolsuper
    union all
    select 'the connection acts as the owner of ' || relname || ': the append-only rules cannot hold' from pg_class
      where relnamespace = 'agent_knowledge'::regnamespace and relowner = current_user::regrole and relkind = 'r'
    union all
    select 'trigger ' || tgname || ' on ' || tgrelid::regclass || ' is not enabled always' from pg_trigger
      where not tgisinternal and tgenabled <> 'A'
        and tgrelid in (select oid from pg_class where relnamespace = 'agent_knowledge'::regnamespace)
    union all
    -- What "disable trigger all" switches off beside ours: the foreign keys.
    select distinct 'constraint "' || c.conname || '" on ' || c.conrelid::regclass || ' is switched off'
      from pg_trigger t join pg_constraint c on c.oid = t.tgconstraint
      where t.tgisinternal and t.tgenabled = 'D' and c.connamespace = 'agent_knowledge'::regnamespace
    union all
    select 'trigger ' || expected || ' is missing' from unnest(${expectedTriggers}::text[]) expected
      where not exists (select from pg_trigger t join pg_class c on c.oid = t.tgrelid
        where t.tgname = expected and c.relnamespace = 'agent_knowledge'::regnamespace)
  `.execute(queries);
  return rows.map((row) => row.fault);
}
