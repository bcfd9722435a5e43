import { MikroORM, type InferKyselyDB } from '@mikro-orm/postgresql';
import { sql, type Kysely } from 'kysely';
import { types } from 'pg';
import { KnowledgeError } from '../core/errors.ts';
import { startupOptions } from './pool.ts';
import { roles } from './roles.ts';
import { tables } from './tables.ts';

type Orm = Awaited<ReturnType<typeof initOrm>>;
/** The typed query builder, inside or outside a transaction. */
export type Queries = Kysely<Tables>;
export type Tables = InferKyselyDB<(typeof tables)[number]>;

export interface DatabaseOptions {
  readonly url: string;
  /** Connections of this process at most; default 10. */
  readonly maxConnections?: number;
  /** Told of every statement; for tests that count them. */
  readonly onStatement?: (statement: string) => void;
}

/** Milliseconds that a caller who was told `UNAVAILABLE` should wait before asking again. */
export const retryAfterMs = 1000;

/**
 * The product's connection pool, switched to the role that owns nothing and bounded in every direction: statements,
 * locks, transactions and waiting for a connection all end by themselves (`reliability.md` 3.4).
 */
export class Database implements AsyncDisposable {
  readonly #orm: Orm;

  private constructor(orm: Orm) {
    this.#orm = orm;
  }

  static async open(options: DatabaseOptions): Promise<Database> {
    try {
      return new Database(await initOrm(options));
    } catch (error) {
      throw asKnowledgeError(error);
    }
  }

  /** Runs one read, or several that need no common snapshot. */
  async read<T>(work: (queries: Queries) => Promise<T>): Promise<T> {
    try {
      return await work(this.#orm.em.fork().getKysely<Tables>());
    } catch (error) {
      throw asKnowledgeError(error);
    }
  }

  /**
   * Runs `work` in one READ COMMITTED transaction. A transaction that the server cut short for a reason that is no
   * fault of its content (deadlock, serialization) is run again, at most three times, so `work` must only touch the
   * database.
   */
  async transaction<T>(work: (queries: Queries) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#orm.em.fork().transactional((em) => work(em.getKysely<Tables>()));
      } catch (error) {
        if (attempt < 4 && retryableStates.has(sqlState(error))) continue;
        throw asKnowledgeError(error);
      }
    }
  }

  /** What is wrong with the server or this connection's rights, each as a sentence; empty when nothing is. */
  async faults(): Promise<readonly string[]> {
    return this.read(findDatabaseFaults);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#orm.close(true);
  }
}

function initOrm(options: DatabaseOptions) {
  return MikroORM.init({
    entities: tables,
    clientUrl: options.url,
    schema: 'agent_knowledge',
    pool: { min: 0, max: options.maxConnections ?? 10, idleTimeoutMillis: 30_000 },
    // Pointers are never read from a standby, which can lag and reorder (finding 23).
    preferReadReplicas: false,
    ...(options.onStatement ? { debug: ['query' as const], logger: options.onStatement } : { debug: false }),
    driverOptions: {
      options: startupOptions({
        role: roles.app,
        search_path: 'agent_knowledge',
        statement_timeout: '5s',
        lock_timeout: '3s',
        idle_in_transaction_session_timeout: '5s',
        transaction_timeout: '15s',
        client_connection_check_interval: '2s',
        TimeZone: 'UTC',
      }),
      application_name: 'agent-knowledge',
      connectionTimeoutMillis: 2000,
      keepAlive: true,
      keepAliveInitialDelayMillis: 5000,
      types: { getTypeParser: parserOf },
    },
  });
}

/** `bigint` columns hold counters far below 2^53; as numbers they can be compared and printed. */
function parserOf(oid: number, format: 'text' | 'binary' = 'text') {
  return oid === 20 ? Number : types.getTypeParser(oid, format as 'text');
}

const retryableStates = new Set(['40001', '40P01']);

function sqlState(error: unknown): string {
  for (let e = error; e instanceof Error; e = e.cause as Error) {
    const code = (e as { code?: unknown }).code;
    if (typeof code === 'string') return code;
  }
  return '';
}

/** States in which the database is there but cannot serve now, or is not there at all. */
const unavailableStates = new Set([
  '53100', // disk full
  '53200', // out of memory
  '53300', // too many connections
  '57P01', // terminated by an administrator
  '57P02', // crash of another backend
  '57P03', // starting up
  '57014', // statement timeout
  '55P03', // lock timeout
  '25P03', // idle in transaction
  '25P04', // transaction timeout
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EHOSTUNREACH',
]);

/** The refusal a database failure becomes at a door; anything that is nobody's weather passes through unchanged. */
function asKnowledgeError(error: unknown): unknown {
  if (error instanceof KnowledgeError) return error;
  const state = sqlState(error);
  const message = error instanceof Error ? error.message : String(error);
  const lost = /timeout exceeded when trying to connect|Connection terminated|Connection ended/.test(message);
  if (!unavailableStates.has(state) && !state.startsWith('08') && !lost) return error;
  return new KnowledgeError('UNAVAILABLE', unavailableMessage(state), {
    details: { retryAfterMs },
    cause: error,
  });
}

function unavailableMessage(state: string): string {
  if (state === '53100') return 'The database has no space left on its disk; nothing was written.';
  if (state === '55P03')
    return 'Another change of this package is under way; nothing was changed. Ask again.';
  return 'The database cannot answer now; nothing was changed. Ask again in a moment.';
}

async function findDatabaseFaults(queries: Queries): Promise<readonly string[]> {
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
    select 'trigger ' || expected || ' is missing' from unnest(array['event_append', 'package_insert', 'package_update',
      'package_delete', 'package_truncate', 'package_pointer_has_event', 'version_insert', 'version_is_whole',
      'files_are_whole', 'blob_is_immutable', 'blob_is_append_only', 'blob_is_kept',
      'package_version_is_immutable', 'package_version_is_append_only', 'package_version_is_kept',
      'version_file_is_immutable', 'version_file_is_append_only', 'version_file_is_kept',
      'knowledge_event_is_immutable', 'knowledge_event_is_append_only', 'knowledge_event_is_kept',
      'registry_snapshot_is_immutable', 'registry_snapshot_is_append_only', 'registry_snapshot_is_kept']) expected
      where not exists (select from pg_trigger t join pg_class c on c.oid = t.tgrelid
        where t.tgname = expected and c.relnamespace = 'agent_knowledge'::regnamespace)
  `.execute(queries);
  return rows.map((row) => row.fault);
}
