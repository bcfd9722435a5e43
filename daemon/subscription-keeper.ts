import { createHash, randomBytes } from 'node:crypto';
import { messageOf } from '../src/core/errors.ts';
import type { Logger } from '../src/core/logger.ts';
import type { Context } from '../src/operations/context.ts';
import {
  announceSubscription,
  claimCare,
  confirmSubscription,
  forgetAbandoned,
  readNotifiedUntil,
  type SubscriptionClaim,
} from '../src/operations/keep-subscription.ts';
import { GraphError } from '../src/source/graph/graph-error.ts';
import type { Graph } from '../src/source/graph/graph.ts';
import { createSubscription, endSubscription, renewSubscription } from '../src/source/graph/subscriptions.ts';
import type { Clock } from './clock.ts';
import type { DriveTree, SubscriptionCare } from './hints/drive-hints.ts';
import { sleepUntil } from './pause.ts';

export interface SubscriptionKeeperOptions {
  readonly context: Context;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly graph: Graph;
  readonly tree: Pick<DriveTree, 'resolve'>;
  /** Where notifications are sent: https, and reachable for the service. */
  readonly notificationUrl: string;
  /** What tells this daemon from the others. */
  readonly keeper: string;
  /** A subscription is there now: what happened before it was not told of (W4). */
  readonly onCreated: () => void;
}

/** Milliseconds between two looks at the subscription while nothing is wrong. */
const lookMs = 60_000;

/** Seconds that a daemon's care lasts without a look: another one takes over then. */
const careSeconds = 180;

/** Three days: far below what the service allows (W1), and long enough for a weekend without this product. */
const lifeMs = 3 * 24 * 3_600_000;

/**
 * Milliseconds until the service is asked again at most. It begins with a minute: at a start of everything the API may not
 * listen yet when the service wants to see it.
 */
const mostMs = 3_600_000;

/**
 * Has one daemon of all keep a subscription to the drive's changes: made, renewed at half of its life, made anew when it is
 * gone or leads elsewhere. Without it the poll goes on as ever, so trouble is told once and tried again later. Nothing is
 * ended when the daemon stops: the next one goes on with it, or it expires by itself.
 */
export class SubscriptionKeeper implements SubscriptionCare {
  readonly #options: SubscriptionKeeperOptions;
  #notifiedUntil: Date | null = null;
  #told: string | null = null;
  #failures = 0;

  constructor(options: SubscriptionKeeperOptions) {
    this.#options = options;
  }

  get notifiedUntil(): Date | null {
    return this.#notifiedUntil;
  }

  async run(signal: AbortSignal): Promise<void> {
    const aborted = sleepUntil(this.#options.clock, null, signal).then(() => 0);
    while (!signal.aborted) {
      // A service that does not answer must not keep the daemon from ending.
      const pauseMs = await Promise.race([aborted, this.#look()]);
      await sleepUntil(this.#options.clock, pauseMs, signal);
    }
  }

  /** Never throws; answers the milliseconds until it is looked at again. */
  async #look(): Promise<number> {
    const { context, tree } = this.#options;
    try {
      const { driveId } = await tree.resolve();
      const { claim, secret } = this.#claimFor(driveId);
      try {
        await this.#keep(claim, secret);
      } finally {
        this.#notifiedUntil = await readNotifiedUntil(context, driveId);
      }
      this.#told = null;
      this.#failures = 0;
      return lookMs;
    } catch (error) {
      return this.#onTrouble(error);
    }
  }

  /** A new secret each time, of which only the one that a subscription is made with is ever used. */
  #claimFor(driveId: string): { claim: SubscriptionClaim; secret: string } {
    const { keeper, notificationUrl } = this.#options;
    const secret = randomBytes(32).toString('base64url');
    const clientStateHash = createHash('sha256').update(secret).digest('hex');
    return { claim: { driveId, keeper, notificationUrl, seconds: careSeconds, clientStateHash }, secret };
  }

  async #keep(claim: SubscriptionClaim, secret: string): Promise<void> {
    const { context, logger } = this.#options;
    const step = await claimCare(context, claim);
    switch (step.next) {
      case 'leave':
      case 'wait':
        return;
      case 'renew':
        if (await this.#hasRenewed(claim, step.id)) return;
        logger.info('the subscription to changes is gone and is made anew');
        return this.#create(claim, secret);
      case 'create':
        await this.#endOld(step.ended === null ? [] : [step.ended]);
        return this.#create(claim, secret);
      default:
        return step satisfies never;
    }
  }

  async #hasRenewed(claim: SubscriptionClaim, id: string): Promise<boolean> {
    const { graph, context } = this.#options;
    try {
      const renewed = await renewSubscription(graph, id, this.#endOfLife());
      await confirmSubscription(context, claim, renewed);
      return true;
    } catch (error) {
      if (error instanceof GraphError && ['missing', 'gone'].includes(error.trouble)) return false;
      throw error;
    }
  }

  async #create(claim: SubscriptionClaim, clientState: string): Promise<void> {
    const { graph, context, logger, onCreated } = this.#options;
    const { driveId, notificationUrl: url } = claim;
    await this.#endOld(await forgetAbandoned(context, claim));
    if (!(await announceSubscription(context, claim))) return;
    const until = this.#endOfLife();
    const held = await createSubscription(graph, { driveId, url, clientState, until });
    await confirmSubscription(context, claim, held);
    logger.info('changes of the drive are notified', { until: held.expiresAt.toISOString() });
    onCreated();
  }

  /** As far as it goes: what is left expires by itself, and its secret counts no more. */
  async #endOld(ids: readonly string[]): Promise<void> {
    const { graph, logger } = this.#options;
    for (const id of ids) {
      await endSubscription(graph, id).catch((error: unknown) =>
        logger.debug('an old subscription could not be ended', { error: messageOf(error) }),
      );
    }
  }

  #onTrouble(error: unknown): number {
    const message = messageOf(error);
    if (message !== this.#told) {
      this.#options.logger.warn('there are no notifications; the drive is polled', { error: message });
    }
    this.#told = message;
    this.#failures += 1;
    return Math.min(mostMs, lookMs * 2 ** Math.min(this.#failures - 1, 10));
  }

  #endOfLife(): Date {
    return new Date(this.#options.context.clock().getTime() + lifeMs);
  }
}
