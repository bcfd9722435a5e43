import { v7 as uuidv7 } from 'uuid';
import { KnowledgeError } from '../core/errors.ts';
import { isNoSpace, noSpace } from '../core/no-space.ts';
import { packageNotFound, requireScope } from '../core/permissions.ts';
import { listLiveDaemons } from '../store/daemons.ts';
import { findPackage } from '../store/packages.ts';
import {
  findAnswered,
  findAttempts,
  insertAttempt,
  touchOpenAttempts,
  unavailableReason,
  type AttemptRow,
} from '../store/refreshes.ts';
import type { CallContext, Context } from './context.ts';
import { once } from './idempotency.ts';
import { resolvePackage } from './names.ts';

export interface RefreshRequest {
  readonly agentKey: string;
  readonly environment?: string | null | undefined;
  /** 0–60, default 30: how long to wait for the outcome. */
  readonly waitSeconds?: number | null | undefined;
  /** The loss of most of a package is meant, so it does not hold. */
  readonly acceptShrink?: boolean | null | undefined;
  readonly idempotencyKey?: string | null | undefined;
}

/**
 * Asks for a refresh and waits for its outcome (K-077). The request is stored first, so that it outlives this process
 * and whoever should carry it out; with no live daemon it is answered `QUEUED` at once and stays. Where the database's
 * disk has no room, nothing is stored and the caller is told so (F29).
 *
 * Needs `ai.knowledge.refresh`. Throws `NOT_FOUND`, `FORBIDDEN`, `BAD_USER_INPUT`, `CONFLICT`, `UNAVAILABLE`.
 */
export async function requestRefresh(context: CallContext, input: RefreshRequest): Promise<AttemptRow> {
  requireScope(context.caller, 'ai.knowledge.refresh');
  const waitSeconds = parseWait(input.waitSeconds);
  const name = resolvePackage(context, input.agentKey, input.environment);
  const { waitSeconds: _, ...arguments_ } = input;
  const lack = await context.room(); // Asked before the transaction, which touches nothing but the database.
  const id = await once(
    context,
    { mutation: 'refresh', input: arguments_, subject: name },
    async (queries) => {
      if ((await findPackage(queries, name.agentKey, name.environment)) === null) {
        throw packageNotFound(name.agentKey, name.environment);
      }
      if (lack !== null) throw noSpace(lack);
      const attempt = {
        ...name,
        id: `ref_${uuidv7()}`,
        actorId: context.caller.actorId,
        acceptShrink: input.acceptShrink ?? false,
      };
      await insertAttempt(queries, attempt);
      return attempt.id;
    },
  );
  await context.queue.requestRefresh(name).catch(asKept);
  const daemons = await context.database.read(listLiveDaemons);
  return awaitRefresh(context, id, daemons.length > 0 ? waitSeconds : 0);
}

function parseWait(waitSeconds: number | null | undefined): number {
  const wait = waitSeconds ?? 30;
  if (wait >= 0 && wait <= 60) return wait;
  throw new KnowledgeError('BAD_USER_INPUT', `waitSeconds must be from 0 to 60; found ${wait}.`);
}

/**
 * How a refresh that was asked for stands, once it is done or the time is up. Throws `UNAVAILABLE` where there is no
 * space to carry it out, and `NOT_FOUND` where it is no longer kept.
 */
export async function awaitRefresh(context: Context, id: string, waitSeconds: number): Promise<AttemptRow> {
  if (waitSeconds > 0) await waitPatiently(context, id, waitSeconds * 1000);
  const [attempt] = await context.database.read((queries) => findAttempts(queries, [id]));
  if (attempt !== undefined && attempt.state !== 'DONE' && attempt.reason === unavailableReason) {
    throw noSpace(`${attempt.message ?? ''} The request is kept and carried out then.`);
  }
  if (attempt) return attempt;
  throw new KnowledgeError('NOT_FOUND', `The refresh ${id} is no longer kept.`);
}

/** The request is stored by now, whatever the words of a full disk say of what was refused just now (G8). */
function asKept(error: unknown): never {
  if (!isNoSpace(error)) throw error;
  throw noSpace(
    'The database has no space left on its disk. The request is kept and carried out once there is room.',
    error,
  );
}

/** Milliseconds after which somebody who still waits makes sure that an answer can come: the disk has room, a daemon lives. */
const doubtAfterMs = 5000;

async function waitPatiently(context: Context, id: string, waitMs: number): Promise<void> {
  for (let leftMs = waitMs; leftMs > 0; leftMs -= doubtAfterMs) {
    if (await waiting(context).until(id, Math.min(leftMs, doubtAfterMs))) return;
    try {
      await context.database.transaction((queries) => touchOpenAttempts(queries, id));
      // The last daemon may have died meanwhile; nobody waits for the dead (F9).
      if ((await context.database.read(listLiveDaemons)).length === 0) return;
    } catch (error) {
      // A database that cannot answer now may answer later; one that is full will not.
      if (isNoSpace(error) || !(error instanceof KnowledgeError)) asKept(error);
    }
  }
}

const waitingRooms = new WeakMap<Context['database'], WaitingRoom>();

/** Everybody of a process who waits shares one question to the database, so that waiting holds no connection. */
function waiting(context: Context): WaitingRoom {
  const room = waitingRooms.get(context.database) ?? new WaitingRoom(context);
  waitingRooms.set(context.database, room);
  return room;
}

/** Answers everybody of this process who waits, now and from now on, with how his refresh stands: the process is about to end. */
export function answerWaiting(context: Context): void {
  waiting(context).end();
}

const askEveryMs = 40;

class WaitingRoom {
  readonly #context: Context;
  readonly #waiters = new Map<string, Set<() => void>>();
  #asking = false;
  #ended = false;

  constructor(context: Context) {
    this.#context = context;
  }

  /** Resolves when the attempt is answered, or nobody waits any more (true), or the time is up (false). */
  async until(id: string, timeoutMs: number): Promise<boolean> {
    if (this.#ended) return true;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const waiters = this.#waiters.get(id) ?? new Set();
    const tell = () => resolve(true);
    this.#waiters.set(id, waiters.add(tell));
    const timer = setTimeout(resolve, timeoutMs, false);
    this.#ask();
    const answered = await promise;
    clearTimeout(timer);
    waiters.delete(tell);
    if (waiters.size === 0) this.#waiters.delete(id);
    return answered;
  }

  end(): void {
    this.#ended = true;
    for (const waiters of this.#waiters.values()) for (const resolve of waiters) resolve();
  }

  #ask(): void {
    if (this.#asking) return;
    this.#asking = true;
    void this.#askUntilEmpty().finally(() => {
      this.#asking = false;
    });
  }

  async #askUntilEmpty(): Promise<void> {
    while (this.#waiters.size > 0) {
      const ids = [...this.#waiters.keys()];
      // A database that cannot answer now may answer later; the waiter's own time limit ends the wait.
      const done = await this.#context.database.read((queries) => findAnswered(queries, ids)).catch(() => []);
      for (const id of done) for (const resolve of this.#waiters.get(id) ?? []) resolve();
      await new Promise((resolve) => setTimeout(resolve, askEveryMs));
    }
  }
}
