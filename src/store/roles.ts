import type { Client } from 'pg';
import { sqlState } from './database-errors.ts';

/**
 * The roles of a database, none of which can log in: what a connection may do is the role its pool switches to, and
 * the role that owns the facts is nobody's (T8, T48).
 */
export const roles = {
  /** Owns schema and facts; only a migration acts as it. */
  owner: 'agent_knowledge_owner',
  /** Reads everything, appends facts, moves references; owns nothing and cannot rewrite. */
  app: 'agent_knowledge_app',
  /** Owns the job queue's schema: its tables have row-level security without policies, which only an owner passes. */
  worker: 'agent_knowledge_worker',
  /** Reads everything but keys. */
  auditor: 'agent_knowledge_auditor',
} as const;

/**
 * Makes the roles and schemas where they are missing, as the administrator's connection, and lets `loginUser` switch
 * to the application's and the worker's role. Safe to run again; roles are shared by all databases of a server.
 */
export async function ensureRoles(client: Client, loginUser: string): Promise<void> {
  for (const role of Object.values(roles)) await ensureRole(client, role);
  for (const role of [roles.owner, roles.worker, roles.app]) {
    await changeShared(client, `grant ${role} to current_user with set true, inherit true`);
  }
  await client.query(`create schema if not exists agent_knowledge authorization ${roles.owner}`);
  await client.query(`create schema if not exists graphile_worker authorization ${roles.worker}`);
  const { rows } = await client.query<{ database: string; login: string }>(
    'select quote_ident(current_database()) as database, quote_ident($1) as login',
    [loginUser],
  );
  const { database, login } = rows[0] as { database: string; login: string };
  // The queue's own migrations say CREATE SCHEMA IF NOT EXISTS, which asks for this right even where it exists.
  await changeShared(client, `grant create on database ${database} to ${roles.worker}`);
  for (const role of [roles.app, roles.worker]) {
    await changeShared(client, `grant ${role} to ${login} with set true, inherit false`);
  }
}

async function ensureRole(client: Client, role: string): Promise<void> {
  const found = await client.query('select from pg_roles where rolname = $1', [role]);
  if (found.rowCount !== 0) return;
  try {
    await changeShared(client, `create role ${role} nologin nosuperuser nocreatedb nocreaterole`);
  } catch (error) {
    if (sqlState(error) !== '42710') throw error; // Another database's migration has just made it.
  }
}

/** What PostgreSQL says where two sessions change the same shared row at once: one is refused, or both wait for each other. */
const sharedRowStates = new Set(['XX000', '23505', '40P01']);

/**
 * Changes what all databases of a server share. Our lock is one database's, so the migration of another may change the
 * same rows at this moment; whoever is refused then finds them as they are.
 */
async function changeShared(client: Client, statement: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await client.query(statement);
      return;
    } catch (error) {
      if (attempt === 20 || !sharedRowStates.has(sqlState(error))) throw error;
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 50));
    }
  }
}
