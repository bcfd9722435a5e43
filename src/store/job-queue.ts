import { setTimeout as sleep } from 'node:timers/promises';
import { makeWorkerUtils, run, Logger, type Runner, type TaskList, type WorkerUtils } from 'graphile-worker';
import type { Pool } from 'pg';
import { KnowledgeError } from '../core/errors.ts';
import { reach } from '../core/failpoint.ts';
import { asKnowledgeError, asSetupError, isDiskFull } from './database-errors.ts';
import { openPool } from './pool.ts';
import { roles } from './roles.ts';

/** What a job may be about; the payload only says where to look. */
export interface PackageName {
  readonly agentKey: string;
  readonly environment: string;
}

export interface QueueHandlers {
  /** Somebody asked for a refresh of this package: go and look. */
  readonly refresh: (name: PackageName) => Promise<void>;
  /** The cluster's timer: look at everything. */
  readonly resync: () => Promise<void>;
  /** Somebody outside knows of a change in the source: ask it what has changed. */
  readonly poll: () => Promise<void>;
}

/** A runner of the queue's library, and whatever takes its place. */
interface Worker {
  runner: Runner;
  working: Promise<void>;
}

/**
 * The job queue on the same PostgreSQL: carries requests from doors to daemons and the cluster's timers. A job is a
 * hint; what was asked for stands in `refresh_attempt` or `notice`, so that a lost job costs time and no answer. No named queues: a
 * killed daemon would leave one locked for hours (finding 2); job keys alone coalesce.
 */
export class JobQueue implements AsyncDisposable {
  readonly #pool: Pool;
  readonly #utils: WorkerUtils;
  readonly #workers: Worker[] = [];
  readonly #closing = new AbortController();

  private constructor(pool: Pool, utils: WorkerUtils) {
    this.#pool = pool;
    this.#utils = utils;
  }

  /** Opens the queue and proves by one round trip that this login may use it: with wrong grants a worker runs and silently sees nothing. */
  static async open(url: string): Promise<JobQueue> {
    const pool = openPool(
      url,
      { role: roles.worker, statement_timeout: '5s', client_connection_check_interval: '2s' },
      { max: 6, connectionTimeoutMillis: 2000, idleTimeoutMillis: 30_000 },
    );
    try {
      const utils = await makeWorkerUtils({ pgPool: pool, schema: 'graphile_worker', logger: silent });
      const queue = new JobQueue(pool, utils);
      await queue.#prove();
      return queue;
    } catch (error) {
      await pool.end();
      throw asSetupError(error);
    }
  }

  async requestRefresh(name: PackageName): Promise<void> {
    await this.#add(
      'refresh',
      { ...name },
      { jobKey: `refresh:${name.environment}:${name.agentKey}`, priority: 0 },
    );
  }

  /**
   * Schedules the cluster's next full look; the earliest of all daemons' wishes stands. By the database's clock: a daemon
   * whose own is a day off would look without a pause, or not for a day; and where the database's was set back, the look
   * that waits for yesterday's time is brought forward (F37).
   */
  async scheduleResync(afterSeconds: number): Promise<void> {
    await this.#ask(() => this.#pool.query(scheduleResync, [afterSeconds]));
  }

  /** Has a daemon ask its source what has changed; any number of calls until one does mean one. */
  async requestPoll(): Promise<void> {
    await this.#add('poll', {}, { jobKey: 'poll', priority: 0 });
  }

  /** Has the daemons go for these notices; what is asked for twice is done once. */
  async requestNotices(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    const jobs = ids.map((id) => ({
      identifier: 'notice',
      payload: { id },
      jobKey: `notice:${id}`,
      maxAttempts: 10,
    }));
    await this.#ask(() => this.#utils.addJobs(jobs));
  }

  /** Takes jobs about looks from now on; a handler that throws is tried again with back-off. */
  async work(handlers: QueueHandlers, concurrency: number): Promise<void> {
    await this.#work(concurrency, {
      refresh: async (payload) => {
        await handlers.refresh(payload as PackageName);
        reach('before job completion');
      },
      resync: async () => handlers.resync(),
      poll: async () => handlers.poll(),
    });
  }

  /** Takes jobs about notices from now on, beside those about looks: however slow a receiver is, no look waits for it. */
  async workNotices(deliver: (id: string) => Promise<void>, concurrency: number): Promise<void> {
    await this.#work(concurrency, {
      notice: async (payload) => deliver((payload as { readonly id: string }).id),
    });
  }

  /** Stops taking jobs, lets those under way end, closes the pool. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    // One that has stopped by itself refuses: the database was away.
    await Promise.all(this.#workers.map((worker) => worker.runner.stop().catch(() => undefined)));
    await Promise.all(this.#workers.map((worker) => worker.working));
    await this.#utils.release();
    if (!this.#pool.ended) await this.#pool.end();
  }

  /** A runner gives up when the database is away for a while; another one takes its place until the queue is closed (F20). */
  async #work(concurrency: number, taskList: TaskList): Promise<void> {
    const start = () =>
      run({
        pgPool: this.#pool,
        schema: 'graphile_worker',
        concurrency,
        pollInterval: 1000,
        noHandleSignals: true,
        logger: silent,
        // In batches, of one moment each: alone, the end of a job is written by a promise that nobody waits for, and one
        // connection cut at that instant would end the process.
        preset: { worker: { completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
        taskList,
      });
    const worker: Worker = { runner: await start(), working: Promise.resolve() };
    worker.working = this.#keepWorking(worker, start);
    this.#workers.push(worker);
  }

  async #keepWorking(worker: Worker, start: () => Promise<Runner>): Promise<void> {
    for (let runner: Runner | null = worker.runner; ;) {
      await runner?.promise.catch(() => undefined); // Whatever ended it, the next one begins anew.
      await sleep(restartDelayMs, undefined, { signal: this.#closing.signal }).catch(() => undefined);
      if (this.#closing.signal.aborted) return;
      runner = await start().catch(() => null);
      if (runner !== null) worker.runner = runner;
    }
  }

  async #add(task: string, payload: object, spec: Parameters<WorkerUtils['addJob']>[2]): Promise<void> {
    await this.#ask(() => this.#utils.addJob(task, payload, { maxAttempts: 10, ...spec }));
  }

  async #ask(work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (isDiskFull(error)) throw asKnowledgeError(error);
      throw new KnowledgeError(
        'UNAVAILABLE',
        'The job queue cannot take the request now. Ask again in a moment.',
        {
          cause: error,
        },
      );
    }
  }

  async #prove(): Promise<void> {
    const job = await this.#utils.addJob('proof', {}, { runAt: farFuture });
    const { rowCount } = await this.#pool.query('select from graphile_worker._private_jobs where id = $1', [
      job.id,
    ]);
    await this.#utils.completeJobs([job.id]);
    if (rowCount !== 1) {
      throw new KnowledgeError(
        'UNAVAILABLE',
        `The login cannot see the job queue it writes to; it needs ${roles.worker}.`,
      );
    }
  }
}

/** With a second's grace for the time between two daemons' wishes. */
const scheduleResync = `
  select graphile_worker.add_job('resync', job_key => 'resync', max_attempts => 10, priority => 10,
    run_at => clock_timestamp() + make_interval(secs => $1),
    job_key_mode => case when exists (
      select from graphile_worker._private_jobs
        where key = 'resync' and run_at > clock_timestamp() + make_interval(secs => $1 + 1)
    ) then 'replace' else 'preserve_run_at' end)`;

/** Milliseconds until a runner that gave up is replaced. */
const restartDelayMs = 1000;

// The queue's own chatter is not about knowledge; its failures reach us as rejections and as jobs tried again.
const silent = new Logger(() => () => undefined);

const farFuture = new Date('2999-01-01T00:00:00Z');
