import { MikroORM, type InferKyselyDB } from '@mikro-orm/postgresql';
import type { Kysely } from 'kysely';
import pLimit, { type LimitFunction } from 'p-limit';
import { types } from 'pg';
import {
  asKnowledgeError,
  asReadError,
  asSetupError,
  isRetryable,
  tooManyTransactions,
} from './database-errors.ts';
import { findDatabaseFaults } from './database-faults.ts';
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
}

const defaultConnections = 10;

/** Connections that transactions leave alone: whoever waits for a lock must keep nobody from reading (F26, T40). */
const connectionsForReads = 4;

/** Milliseconds that a transaction waits for its turn at most. */
const maxTurnMs = 3000;

/** How often a transaction is run before its caller is told `UNAVAILABLE` (F28). */
const maxAttempts = 4;

/**
 * The product's connection pool, switched to the role that owns nothing and bounded in every direction: statements,
 * locks, transactions and waiting for a connection all end by themselves (`reliability.md` 3.4).
 */
export class Database implements AsyncDisposable {
  readonly #orm: Orm;
  readonly #transactions: LimitFunction;
  readonly #subjects = new Map<string, LimitFunction>();

  private constructor(orm: Orm, maxConnections: number) {
    this.#orm = orm;
    this.#transactions = pLimit(Math.max(1, maxConnections - connectionsForReads));
  }

  static async open(options: DatabaseOptions): Promise<Database> {
    try {
      return new Database(await initOrm(options), options.maxConnections ?? defaultConnections);
    } catch (error) {
      throw asKnowledgeError(error);
    }
  }

  /** Runs one read, or several that need no common snapshot. */
  async read<T>(work: (queries: Queries) => Promise<T>): Promise<T> {
    try {
      return await work(this.#queries());
    } catch (error) {
      throw asReadError(error);
    }
  }

  /**
   * Runs `work` in one READ COMMITTED transaction. A transaction that the server cut short for a reason that is no
   * fault of its content (deadlock, serialization) is run again, at most three times, so `work` must only touch the
   * database, and must not begin another transaction (F27, F28). `subject` names what it will lock, such as a package: transactions
   * of one subject take turns, so that however many wait for one package the others go on (F26).
   */
  async transaction<T>(work: (queries: Queries) => Promise<T>, subject = ''): Promise<T> {
    const asked = performance.now();
    const inTurn = () =>
      this.#transactions(() => {
        if (performance.now() - asked > maxTurnMs) throw tooManyTransactions();
        return this.#transact(work);
      });
    return subject === '' ? inTurn() : this.#turnsOf(subject, inTurn);
  }

  /** One at a time per subject: those who would wait for the same lock wait here, where they hold no connection. */
  #turnsOf<T>(subject: string, work: () => Promise<T>): Promise<T> {
    const turns = this.#subjects.get(subject) ?? pLimit(1);
    this.#subjects.set(subject, turns);
    return turns(work);
  }

  async #transact<T>(work: (queries: Queries) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        // The query builder's own transaction: the ORM's keeps the connection of a transaction whose rollback fails, so
        // that a pool would lose one for every connection that the server drops.
        return await this.#queries().transaction().execute(work);
      } catch (error) {
        if (attempt === maxAttempts || !isRetryable(error)) throw asKnowledgeError(error);
        // Those who met in a deadlock must not meet again.
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 20 * attempt));
      }
    }
  }

  /**
   * What is wrong with the server or this connection's rights, each as a sentence; empty when nothing is. Throws
   * `UNAVAILABLE` in an operator's words where the login, the database or the role is not to be had.
   */
  async faults(): Promise<readonly string[]> {
    try {
      return await findDatabaseFaults(this.#queries());
    } catch (error) {
      throw asSetupError(error);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#orm.close(true);
  }

  #queries(): Queries {
    return this.#orm.em.fork().getKysely<Tables>();
  }
}

function initOrm(options: DatabaseOptions) {
  return MikroORM.init({
    entities: tables,
    clientUrl: options.url,
    schema: 'agent_knowledge',
    pool: { min: 0, max: options.maxConnections ?? defaultConnections, idleTimeoutMillis: 30_000 },
    // Pointers are never read from a standby, which can lag and reorder (finding 23).
    preferReadReplicas: false,
    debug: false,
    driverOptions: {
      options: startupOptions({
        role: roles.app,
        search_path: 'agent_knowledge',
        // Under a snapshot of its own a transaction would not see what the lock it waited for has let through.
        default_transaction_isolation: 'read committed',
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
const parserOf: typeof types.getTypeParser = (type, format) =>
  type === types.builtins.INT8 ? Number : types.getTypeParser(type, format);
