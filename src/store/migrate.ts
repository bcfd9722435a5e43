import { Migrator } from '@mikro-orm/migrations';
import { MikroORM } from '@mikro-orm/postgresql';
import { runMigrations as runQueueMigrations } from 'graphile-worker';
import { Client } from 'pg';
import { KnowledgeError, messageOf } from '../core/errors.ts';
import { asSetupError, sqlState } from './database-errors.ts';
import { migrations } from './migrations/index.ts';
import { openPool, startupOptions } from './pool.ts';
import { ensureRoles, roles } from './roles.ts';

/** One migration at a time per database; any number that no other program is likely to have chosen. */
const migrationLock = 4_104_118_201;

export interface MigrateOptions {
  /** Who migrates and owns: a superuser, or an owner of the database that may create roles. */
  readonly adminUrl: string;
  /** Whose login the pools use; it is allowed to switch to the application's role. */
  readonly applicationUrl: string;
  /** Runs last, still under the lock, so that of N processes that start at once one does it. */
  readonly underLock?: () => Promise<void>;
}

/**
 * Brings a database to this program's schema: roles, our tables, the job queue's tables, all under one advisory lock
 * on a connection of its own, so that N processes starting at once migrate it once (T16, F46).
 *
 * Throws `KnowledgeError` `UNAVAILABLE` with what was expected where the server is too old, of another encoding or a
 * standby, or where the administrator's login may not do this.
 */
export async function migrate(options: MigrateOptions): Promise<void> {
  const client = new Client({ connectionString: options.adminUrl });
  // A server that goes away while we wait for a query is reported by the query; without a listener it would end the process.
  client.on('error', () => undefined);
  try {
    await client.connect();
    await assertServer(client);
    await client.query('select pg_advisory_lock($1)', [migrationLock]);
    await ensureRoles(client, loginUserOf(options.applicationUrl));
    await migrateTables(options.adminUrl);
    await migrateQueue(options.adminUrl);
    await options.underLock?.();
  } catch (error) {
    throw sqlState(error) === '42501' ? mayNotMigrate(error) : asSetupError(error, options.adminUrl);
  } finally {
    await client.end();
  }
}

/**
 * True when every migration of this program has been applied; false also on a server that has never seen this program.
 *
 * Throws `UNAVAILABLE` in plain words where the login may not act as the application's role.
 */
export async function isMigrated(url: string): Promise<boolean> {
  const client = new Client({ connectionString: url, options: startupOptions({ role: roles.app }) });
  client.on('error', () => undefined);
  try {
    await client.connect();
  } catch (error) {
    // The role is made by the first migration: without it there was none.
    if (sqlState(error) === '22023') return false;
    throw asSetupError(error, url);
  }
  try {
    const table = await client.query(`select to_regclass('agent_knowledge.migration') as name`);
    if (table.rows[0].name === null) return false;
    const applied = await client.query<{ name: string }>('select name from agent_knowledge.migration');
    const names = new Set(applied.rows.map((row) => row.name));
    return migrations.every((migration) => names.has(migration.name));
  } finally {
    await client.end();
  }
}

function mayNotMigrate(error: unknown): KnowledgeError {
  const found = messageOf(error);
  return new KnowledgeError(
    'UNAVAILABLE',
    `The administrator's login may not migrate this database: ${found}. It must be a superuser, or own the database and be allowed to create roles.`,
    { cause: error },
  );
}

async function assertServer(client: Client): Promise<void> {
  const { rows } = await client.query(
    `select current_setting('server_version_num')::integer as version, current_setting('server_encoding') as encoding,
      pg_is_in_recovery() as standby`,
  );
  const { version, encoding, standby } = rows[0];
  if (version < 170_000) {
    throw new KnowledgeError(
      'UNAVAILABLE',
      `PostgreSQL 17 or newer is needed; this server is ${Math.floor(version / 10_000)}.`,
    );
  }
  if (encoding !== 'UTF8') {
    throw new KnowledgeError(
      'UNAVAILABLE',
      `The database's encoding must be UTF8; it is ${encoding}. Create it anew with ENCODING 'UTF8'.`,
    );
  }
  if (standby)
    throw new KnowledgeError('UNAVAILABLE', 'This server is a standby in recovery; use the primary.');
}

function loginUserOf(url: string): string {
  return decodeURIComponent(new URL(url).username);
}

async function migrateTables(adminUrl: string): Promise<void> {
  const orm = await MikroORM.init({
    clientUrl: adminUrl,
    entities: [],
    schema: 'agent_knowledge',
    discovery: { warnWhenNoEntities: false },
    extensions: [Migrator],
    pool: { min: 0, max: 2 },
    driverOptions: { options: startupOptions({ role: roles.owner, search_path: 'agent_knowledge' }) },
    migrations: {
      tableName: 'migration',
      migrationsList: migrations,
      snapshot: false,
      silent: true,
      disableForeignKeys: false,
    },
  });
  try {
    await orm.migrator.up();
    await orm.em.execute(`grant select on migration to ${roles.app}`);
  } finally {
    await orm.close(true);
  }
}

async function migrateQueue(adminUrl: string): Promise<void> {
  const pgPool = openPool(adminUrl, { role: roles.worker }, { max: 1 });
  try {
    await runQueueMigrations({ pgPool, schema: 'graphile_worker' });
  } finally {
    await pgPool.end();
  }
}
