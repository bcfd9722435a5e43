import {
  beginSubscription,
  claimSubscription,
  findNotifiedUntil,
  forgetAbandonedSubscriptions,
  noteSubscription,
  type SubscriptionClaim,
  type SubscriptionRow,
} from '../store/drive-subscriptions.ts';
import type { Context } from './context.ts';

export type { SubscriptionClaim };

/** What the keeper of a drive's subscription does next. */
export type SubscriptionStep =
  /** Another daemon takes care of it. */
  | { readonly next: 'leave' }
  /** It is well. */
  | { readonly next: 'wait' }
  | { readonly next: 'renew'; readonly id: string }
  /** There is none, or it is over, or it notifies an address that is ours no more: that one is ended first, where there is one. */
  | { readonly next: 'create'; readonly ended: string | null };

/**
 * Takes the care of a drive's subscription and answers what is to be done about it. Asking the service is the caller's: no
 * transaction stands around it, and a keeper that dies leaves a claim that lapses.
 */
export async function claimCare(context: Context, claim: SubscriptionClaim): Promise<SubscriptionStep> {
  const row = await context.database.read((queries) => claimSubscription(queries, claim));
  if (row === null) return { next: 'leave' };
  return planSubscription(row, claim.notificationUrl, context.clock());
}

/** Pure: what a subscription needs at this moment. */
export function planSubscription(row: SubscriptionRow, url: string, now: Date): SubscriptionStep {
  const { subscriptionId: id, expiresAt, renewAt } = row;
  if (id === null || row.notificationUrl !== url) return { next: 'create', ended: id };
  if (expiresAt === null || expiresAt <= now) return { next: 'create', ended: null };
  return renewAt === null || renewAt <= now ? { next: 'renew', id } : { next: 'wait' };
}

/**
 * Makes the secret of the next subscription known before the service hears of it, since its first notification may come
 * at once; false where another daemon has taken over.
 */
export async function announceSubscription(context: Context, claim: SubscriptionClaim): Promise<boolean> {
  return context.database.read((queries) => beginSubscription(queries, claim));
}

/** Notes a subscription as the service keeps it, to be renewed at half of its life. */
export async function confirmSubscription(
  context: Context,
  claim: SubscriptionClaim,
  held: { readonly id: string; readonly expiresAt: Date },
): Promise<void> {
  const now = context.clock().getTime();
  const renewAt = new Date(now + Math.max(0, held.expiresAt.getTime() - now) / 2);
  await context.database.read((queries) => noteSubscription(queries, claim, { ...held, renewAt }));
}

/** When the notifications of a drive end, whoever takes care of them; null where there are none. */
export async function readNotifiedUntil(context: Context, driveId: string): Promise<Date | null> {
  return context.database.read((queries) => findNotifiedUntil(queries, driveId));
}

/** Forgets the subscriptions to other drives that nobody takes care of any more; answers the ids that the service may still keep. */
export async function forgetAbandoned(context: Context, claim: SubscriptionClaim): Promise<string[]> {
  return context.database.read((queries) => forgetAbandonedSubscriptions(queries, claim));
}
