import { sql } from 'kysely';
import type { Queries } from './database.ts';

/** How far a drive's changes have been taken as hints. */
export interface DriveCursorRow {
  readonly driveId: string;
  /** The service's link, exactly as it gave it (D17). */
  readonly link: string;
  /** What it was asked for with: under anything else it means nothing (D18). */
  readonly madeWith: string;
}

/** The link that any daemon kept last; null where there is none that was made this way. */
export async function findCursor(
  queries: Queries,
  { driveId, madeWith }: Omit<DriveCursorRow, 'link'>,
): Promise<string | null> {
  const row = await queries
    .selectFrom('drive_cursor')
    .select('link')
    .where('drive_id', '=', driveId)
    .where('made_with', '=', madeWith)
    .executeTakeFirst();
  return row?.link ?? null;
}

/** Keeps a link in the place of the one before. */
export async function saveCursor(queries: Queries, cursor: DriveCursorRow): Promise<void> {
  const moving = { link: cursor.link, made_with: cursor.madeWith };
  await queries
    .insertInto('drive_cursor')
    .values({ drive_id: cursor.driveId, ...moving })
    .onConflict((conflict) =>
      conflict.column('drive_id').doUpdateSet({ ...moving, moved_at: sql`clock_timestamp()` }),
    )
    .execute();
}
