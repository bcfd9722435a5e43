import { sql } from 'kysely';
import type { Queries } from './database.ts';

/** The subscription to a drive's changes, as far as it is known here. */
export interface SubscriptionRow {
  readonly driveId: string;
  /** Null while there is none, or one is being made. */
  readonly subscriptionId: string | null;
  readonly notificationUrl: string;
  readonly expiresAt: Date | null;
  readonly renewAt: Date | null;
}

/** Who wants to take care of a drive's subscription, and for how long it keeps everybody else from it. */
export interface SubscriptionClaim {
  readonly driveId: string;
  readonly keeper: string;
  readonly seconds: number;
  readonly notificationUrl: string;
  /** Of the secret that a new subscription would be made with: SHA-256, hex. */
  readonly clientStateHash: string;
}

/** What a notification is compared with. */
export interface KnownSubscription {
  readonly subscriptionId: string;
  /** SHA-256 of the secret that comes with each notification, hex; the secret itself is not kept. */
  readonly clientStateHash: string;
}

/** Takes the care of a drive's subscription, or goes on with it; null where another keeper has it. One statement, no lock held. */
export async function claimSubscription(
  queries: Queries,
  claim: SubscriptionClaim,
): Promise<SubscriptionRow | null> {
  const kept = { keeper: claim.keeper, kept_until: inSeconds(claim.seconds) };
  const row = await queries
    .insertInto('drive_subscription')
    .values({
      drive_id: claim.driveId,
      notification_url: claim.notificationUrl,
      client_state_hash: claim.clientStateHash,
      ...kept,
    })
    .onConflict((conflict) =>
      conflict
        .column('drive_id')
        .doUpdateSet(kept)
        .where((where) =>
          where.or([
            where('drive_subscription.keeper', 'is', null),
            where('drive_subscription.keeper', '=', claim.keeper),
            where('drive_subscription.kept_until', '<', now),
          ]),
        ),
    )
    .returningAll()
    .executeTakeFirst();
  return row ? toRow(row) : null;
}

/** The secret that the next subscription comes with is known from now on; the one before it counts no more. */
export async function beginSubscription(queries: Queries, claim: SubscriptionClaim): Promise<boolean> {
  const result = await ofKeeper(queries, claim)
    .set({
      subscription_id: null,
      expires_at: null,
      renew_at: null,
      notification_url: claim.notificationUrl,
      client_state_hash: claim.clientStateHash,
      kept_until: inSeconds(claim.seconds),
    })
    .executeTakeFirst();
  return Number(result.numUpdatedRows) === 1;
}

/** Notes what the service keeps now, and when it is to be renewed: at half of what is left, or at once where it is asked for. */
export async function noteSubscription(
  queries: Queries,
  claim: Pick<SubscriptionClaim, 'driveId' | 'keeper'>,
  held: { readonly id: string; readonly expiresAt: Date; readonly renewAt: Date },
): Promise<void> {
  await ofKeeper(queries, claim)
    .set({ subscription_id: held.id, expires_at: held.expiresAt, renew_at: held.renewAt })
    .execute();
}

/** When a drive's notifications end; null where there are none. */
export async function findNotifiedUntil(queries: Queries, driveId: string): Promise<Date | null> {
  const row = await queries
    .selectFrom('drive_subscription')
    .select('expires_at')
    .where('drive_id', '=', driveId)
    .where('subscription_id', 'is not', null)
    .where('expires_at', '>', now)
    .executeTakeFirst();
  return row?.expires_at ?? null;
}

/** Subscriptions to other drives that nobody has taken care of for so long; they are forgotten here. Answers their ids. */
export async function forgetAbandonedSubscriptions(
  queries: Queries,
  { driveId, seconds }: Pick<SubscriptionClaim, 'driveId' | 'seconds'>,
): Promise<string[]> {
  const rows = await queries
    .deleteFrom('drive_subscription')
    .where('drive_id', '<>', driveId)
    .where((where) =>
      where.or([where('kept_until', 'is', null), where('kept_until', '<', inSeconds(-seconds))]),
    )
    .returning('subscription_id')
    .execute();
  return rows.map((row) => row.subscription_id).filter((id) => id !== null);
}

/** Every subscription whose notifications count. */
export async function listKnownSubscriptions(queries: Queries): Promise<KnownSubscription[]> {
  const rows = await queries
    .selectFrom('drive_subscription')
    .select(['subscription_id', 'client_state_hash'])
    .where('subscription_id', 'is not', null)
    .execute();
  return rows.map((row) => ({
    subscriptionId: row.subscription_id as string,
    clientStateHash: row.client_state_hash,
  }));
}

/** Notes that notifications have come. */
export async function touchSubscriptions(queries: Queries, ids: readonly string[]): Promise<void> {
  await ofIds(queries, ids).set({ notified_at: now }).execute();
}

/** Has subscriptions renewed as soon as their keeper looks (W3). */
export async function renewSubscriptionsNow(queries: Queries, ids: readonly string[]): Promise<void> {
  await ofIds(queries, ids).set({ renew_at: now }).execute();
}

/** The service keeps these no more (W3): their keeper makes new ones. */
export async function loseSubscriptions(queries: Queries, ids: readonly string[]): Promise<void> {
  await ofIds(queries, ids).set({ subscription_id: null, expires_at: null, renew_at: null }).execute();
}

function ofIds(queries: Queries, ids: readonly string[]) {
  return queries.updateTable('drive_subscription').where('subscription_id', 'in', [...ids]);
}

/** The row as long as this keeper has it: one that slept for too long changes nothing. */
function ofKeeper(queries: Queries, { driveId, keeper }: Pick<SubscriptionClaim, 'driveId' | 'keeper'>) {
  return queries
    .updateTable('drive_subscription')
    .where('drive_id', '=', driveId)
    .where('keeper', '=', keeper);
}

function toRow(row: {
  readonly drive_id: string;
  readonly subscription_id: string | null;
  readonly notification_url: string;
  readonly expires_at: Date | null;
  readonly renew_at: Date | null;
}): SubscriptionRow {
  return {
    driveId: row.drive_id,
    subscriptionId: row.subscription_id,
    notificationUrl: row.notification_url,
    expiresAt: row.expires_at,
    renewAt: row.renew_at,
  };
}

const now = sql<Date>`clock_timestamp()`;

function inSeconds(seconds: number) {
  return sql<Date>`clock_timestamp() + make_interval(secs => ${seconds})`;
}
