import { setTimeout as sleep } from 'node:timers/promises';
import pLimit from 'p-limit';
import { KnowledgeError } from '../core/errors.ts';
import type { Caller } from '../core/permissions.ts';
import { readChanges, readHead, type Change } from '../store/changes.ts';
import type { Database } from '../store/database.ts';
import { within } from '../store/within.ts';
import { readEndedCredentials, unauthenticated } from './authenticate.ts';
import { Follower } from './follower.ts';
import { RecentChanges } from './recent-changes.ts';

/** Tells that the log may have grown; closed when nobody follows any more. */
export type OpenListener = (hint: () => void) => AsyncDisposable;

/** What somebody follows. */
export interface Following {
  readonly caller: Caller;
  /** The log's number behind which he begins. */
  readonly after: number;
  /** Null: every one. */
  readonly agentKey: string | null;
  readonly environment: string | null;
  /** What the filter lets through and the caller may see. */
  readonly sees: (change: Change) => boolean;
}

export interface Followed {
  readonly changes: AsyncIterableIterator<Change>;
  /** The log's number from which to go on once every change that came is dealt with: it grows with what is not for him too. */
  readonly place: () => number;
}

/**
 * Milliseconds between two looks at the log without a hint, between two questions whether credentials are still valid,
 * and the least time between two such questions when the log has grown, where a revocation may be what is new; and how
 * long the database may take to answer one of them, since a connection that went dead without a word answers none.
 */
const defaultTimes = { pollMs: 500, credentialsMs: 2000, newsMs: 250, answerMs: 2000 };

/** Changes read in one statement. */
const pageSize = 200;

/**
 * The audit log's changes of packages, for everybody in this process who follows them: one reader of the log, woken by
 * hints and by the clock, and a cursor per follower. A follower has no buffer, so a slow one costs nothing and is
 * served from the database where it has fallen behind. Nothing runs while nobody follows.
 */
export class KnowledgeFeed implements AsyncDisposable {
  readonly #context: { readonly database: Database; readonly clock: () => Date };
  readonly #openListener: OpenListener;
  readonly #times: typeof defaultTimes;
  readonly #followers = new Set<Follower>();
  #recent = new RecentChanges(0);
  #reading: AsyncDisposable | undefined;
  /** Beginning to read the log and stopping take turns, or what is being stopped would be followed. */
  readonly #turns = pLimit(1);

  constructor(
    context: { readonly database: Database; readonly clock: () => Date },
    openListener: OpenListener,
    times: Partial<typeof defaultTimes> = {},
  ) {
    this.#context = context;
    this.#openListener = openListener;
    this.#times = { ...defaultTimes, ...times };
  }

  /** Who follows now, each as often as he does. */
  get callers(): readonly Caller[] {
    return [...this.#followers].map(({ caller }) => caller);
  }

  /**
   * The changes behind a place of the log, each once and in order, then those to come. Ends with an error when the
   * caller's credential has ended (`UNAUTHENTICATED`) or the log is no longer the one it was (`RESET`). While the
   * database is away it waits. `return()` ends it at once.
   */
  async follow(following: Following): Promise<Followed> {
    const follower = new Follower(following.caller, following.after);
    this.#followers.add(follower);
    const leave = async () => {
      this.#followers.delete(follower);
      follower.end(null);
      await this.#turns(() => this.#stopUnfollowed());
    };
    try {
      await this.#turns(() => this.#start());
    } catch (error) {
      await leave();
      throw error;
    }
    const changes = this.#changes(following, follower);
    return { changes: leaving(changes, leave), place: () => follower.place };
  }

  /** Ends everybody's stream without a word, as when a process dies. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const follower of this.#followers) follower.end(null);
    this.#followers.clear();
    await this.#turns(() => this.#stopUnfollowed());
  }

  async *#changes(following: Following, follower: Follower): AsyncGenerator<Change, undefined> {
    for (;;) {
      const page = await this.#pageBehind(follower, following);
      for (const change of page.changes) {
        if (follower.hasEnded()) return undefined;
        // Asked for the next one, he has dealt with this one; until then a sign of life must not count it as seen.
        if (following.sees(change)) yield change;
        follower.place = change.sequence;
      }
      follower.place = page.upTo;
      if (follower.hasEnded()) return undefined;
    }
  }

  /** What lies behind a place of the log, from memory or from the database; waits until something does. */
  async #pageBehind(
    follower: Follower,
    { agentKey, environment }: Following,
  ): Promise<{ readonly changes: readonly Change[]; readonly upTo: number }> {
    const cursor = follower.place;
    const upTo = this.#recent.head;
    if (cursor >= upTo) {
      await follower.woken();
      return { changes: [], upTo: cursor };
    }
    const kept = this.#recent.behind(cursor);
    if (kept !== null) return { changes: kept, upTo };
    try {
      const range = { after: cursor, upTo, limit: pageSize, agentKey, environment };
      const changes = await within(
        this.#context.database.read((queries) => readChanges(queries, range)),
        this.#times.answerMs,
      );
      return { changes, upTo: changes.length < pageSize ? upTo : (changes.at(-1)?.sequence ?? upTo) };
    } catch (error) {
      if (!isPassing(error)) throw error;
      await sleep(this.#times.pollMs);
      return { changes: [], upTo: cursor };
    }
  }

  async #start(): Promise<void> {
    this.#reading ??= await this.#begin();
  }

  async #stopUnfollowed(): Promise<void> {
    if (this.#followers.size > 0) return;
    await this.#reading?.[Symbol.asyncDispose]();
    this.#reading = undefined;
  }

  async #begin(): Promise<AsyncDisposable> {
    this.#recent = new RecentChanges(
      await within(this.#context.database.read(readHead), this.#times.answerMs),
    );
    const closing = new AbortController();
    let hinted = new AbortController();
    const listener = this.#openListener(() => hinted.abort());
    const hintOrPause = async () => {
      const signal = AbortSignal.any([closing.signal, hinted.signal]);
      await sleep(this.#times.pollMs, undefined, { signal }).catch(() => undefined);
      hinted = new AbortController();
    };
    const reading = this.#read(closing.signal, hintOrPause);
    return {
      [Symbol.asyncDispose]: async () => {
        closing.abort();
        await listener[Symbol.asyncDispose]();
        await reading;
      },
    };
  }

  /** Looks at the log again and again until it is told to stop. What fails is tried again: the log loses nothing. */
  async #read(closing: AbortSignal, hintOrPause: () => Promise<void>): Promise<void> {
    const { newsMs, credentialsMs } = this.#times;
    let [asked, hasNews] = [performance.now(), false];
    for (;;) {
      await hintOrPause();
      if (closing.aborted) return;
      try {
        hasNews = (await this.#catchUp()) || hasNews;
        if (performance.now() - asked < (hasNews ? newsMs : credentialsMs)) continue;
        [asked, hasNews] = [performance.now(), false];
        await this.#endCredentials();
      } catch (error) {
        if (!isPassing(error)) this.#endAll(error);
      }
    }
  }

  /** Takes over what is new in the log; answers whether anything is, be it about a package or not. */
  async #catchUp(): Promise<boolean> {
    const head = await within(this.#context.database.read(readHead), this.#times.answerMs);
    const known = this.#recent.head;
    if (head === known) return false;
    if (head < known) {
      this.#endAll(otherLog());
      this.#recent = new RecentChanges(head);
      return true;
    }
    const limit = RecentChanges.most;
    const range = { after: known, upTo: head, agentKey: null, environment: null, limit };
    const changes = await within(
      this.#context.database.read((queries) => readChanges(queries, range)),
      this.#times.answerMs,
    );
    if (changes.length < limit) this.#recent.add(changes, head);
    else this.#recent = new RecentChanges(head);
    for (const follower of this.#followers) follower.wake();
    return true;
  }

  async #endCredentials(): Promise<void> {
    const ended = new Set(
      await within(readEndedCredentials(this.#context, this.callers), this.#times.answerMs),
    );
    for (const follower of this.#followers) if (ended.has(follower.caller)) follower.end(unauthenticated());
  }

  #endAll(reason: unknown): void {
    for (const follower of this.#followers) follower.end(reason);
  }
}

/** The same iterator, which calls `leave` however it ends; `return()` does not wait for what it waits for. */
function leaving(
  changes: AsyncGenerator<Change, undefined>,
  leave: () => Promise<void>,
): AsyncIterableIterator<Change> {
  return {
    async next() {
      try {
        const result = await changes.next();
        if (result.done) await leave();
        return result;
      } catch (error) {
        await leave();
        throw error;
      }
    },
    async return() {
      await leave();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

function otherLog(): KnowledgeError {
  return new KnowledgeError(
    'RESET',
    'The audit log is shorter than it was: an older database has taken its place. Read the active version again and follow from now on.',
  );
}

/** Trouble that is over by itself. */
function isPassing(error: unknown): boolean {
  return error instanceof KnowledgeError && error.code === 'UNAVAILABLE';
}
