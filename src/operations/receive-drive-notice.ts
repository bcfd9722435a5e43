import { createHash, timingSafeEqual } from 'node:crypto';
import {
  listKnownSubscriptions,
  loseSubscriptions,
  renewSubscriptionsNow,
  touchSubscriptions,
  type KnownSubscription,
} from '../store/drive-subscriptions.ts';
import type { Context } from './context.ts';

/** One notification as it came; anybody can send one. */
export interface DriveNotice {
  readonly subscriptionId: string | null;
  readonly clientState: string | null;
  /** What became of the subscription itself, such as `subscriptionRemoved`; null where a drive has changed. */
  readonly lifecycleEvent: string | null;
}

/** Milliseconds that known subscriptions are taken as they were, and that stand between two polls asked for here. */
const restMs = 1000;

/**
 * Takes notifications for one process: those that carry the secret of a subscription of ours wake the daemons, at most once
 * a second whatever comes; all others do nothing, and look the same from outside (T5). They are hints, no more.
 */
export class DriveNoticeInbox implements Disposable {
  readonly #context: Context;
  #known: Promise<readonly KnownSubscription[]> | null = null;
  #knownUntil = -Infinity;
  #polledAt = -Infinity;
  #later: NodeJS.Timeout | null = null;
  #ignored = 0;

  constructor(context: Context) {
    this.#context = context;
  }

  /** Takes what one request brought. Throws `KnowledgeError` UNAVAILABLE where it could not be passed on: it is to be sent again. */
  async receive(notices: readonly DriveNotice[]): Promise<void> {
    const known = await this.#readKnown();
    const ours = notices.filter((notice) => isOurs(notice, known));
    this.#ignored += notices.length - ours.length;
    if (ours.length === 0) return;
    await this.#noteLifecycle(ours);
    await this.#pollSoon(ours);
  }

  /** How many were ignored since this was last asked. */
  takeIgnored(): number {
    const ignored = this.#ignored;
    this.#ignored = 0;
    return ignored;
  }

  [Symbol.dispose](): void {
    if (this.#later !== null) clearTimeout(this.#later);
  }

  /** A flood costs the database one question a second. */
  #readKnown(): Promise<readonly KnownSubscription[]> {
    const now = performance.now();
    if (this.#known !== null && now < this.#knownUntil) return this.#known;
    this.#knownUntil = now + restMs;
    this.#known = this.#context.database.read(listKnownSubscriptions);
    return this.#known;
  }

  async #noteLifecycle(ours: readonly DriveNotice[]): Promise<void> {
    const idsOf = (event: string) => idsIn(ours.filter((notice) => notice.lifecycleEvent === event));
    const [unauthorized, removed] = [idsOf('reauthorizationRequired'), idsOf('subscriptionRemoved')];
    if (unauthorized.length + removed.length === 0) return;
    await this.#context.database.read(async (queries) => {
      if (unauthorized.length > 0) await renewSubscriptionsNow(queries, unauthorized);
      if (removed.length > 0) await loseSubscriptions(queries, removed);
    });
  }

  /** What comes within a second of a poll is asked for when the second is over: that poll may have read before it. */
  async #pollSoon(ours: readonly DriveNotice[]): Promise<void> {
    if (this.#later !== null) return;
    const waitMs = this.#polledAt + restMs - performance.now();
    if (waitMs <= 0) return this.#poll(ours);
    this.#later = setTimeout(() => {
      this.#later = null;
      // Where this fails, the timer of the daemons finds what has changed.
      this.#poll(ours).catch(() => undefined);
    }, waitMs).unref();
  }

  async #poll(ours: readonly DriveNotice[]): Promise<void> {
    this.#polledAt = performance.now();
    await this.#context.queue.requestPoll();
    await this.#context.database.read((queries) => touchSubscriptions(queries, idsIn(ours)));
  }
}

/** In constant time, and as long for a subscription that nobody knows (T5). */
function isOurs(notice: DriveNotice, known: readonly KnownSubscription[]): boolean {
  const subscription = known.find(({ subscriptionId }) => subscriptionId === notice.subscriptionId);
  const expected = Buffer.from(subscription?.clientStateHash ?? nobody, 'hex');
  const given = createHash('sha256')
    .update(notice.clientState ?? '')
    .digest();
  return timingSafeEqual(given, expected) && subscription !== undefined;
}

const nobody = '0'.repeat(64);

function idsIn(notices: readonly DriveNotice[]): string[] {
  return [...new Set(notices.map((notice) => notice.subscriptionId).filter((id) => id !== null))];
}
