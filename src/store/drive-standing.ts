import type { Queries } from './database.ts';

/** What is known of a drive's notifications and of how far its changes were read; times are null where there are none. */
export interface DriveStanding {
  readonly driveId: string;
  /** When the changes were last read to the end and something had moved. */
  readonly cursorMovedAt: Date | null;
  readonly isSubscribed: boolean;
  readonly notifiedUntil: Date | null;
  readonly notifiedAt: Date | null;
}

/** Every drive that anything is kept of, by its id. */
export async function listDriveStandings(queries: Queries): Promise<DriveStanding[]> {
  const cursors = await queries
    .selectFrom('drive_cursor')
    .select(['drive_id', 'moved_at'])
    .orderBy('drive_id')
    .execute();
  const subscriptions = await queries
    .selectFrom('drive_subscription')
    .select(['drive_id', 'subscription_id', 'expires_at', 'notified_at'])
    .orderBy('drive_id')
    .execute();
  const ids = new Set([...cursors, ...subscriptions].map((row) => row.drive_id));
  return [...ids].map((driveId) => {
    const subscription = subscriptions.find((row) => row.drive_id === driveId);
    return {
      driveId,
      cursorMovedAt: cursors.find((row) => row.drive_id === driveId)?.moved_at ?? null,
      isSubscribed: (subscription?.subscription_id ?? null) !== null,
      notifiedUntil: subscription?.expires_at ?? null,
      notifiedAt: subscription?.notified_at ?? null,
    };
  });
}
