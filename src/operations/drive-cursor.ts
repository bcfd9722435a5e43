import { findCursor, saveCursor, type DriveCursorRow } from '../store/drive-cursors.ts';
import type { Context } from './context.ts';

export type { DriveCursorRow };

/** Where the reading of a drive's changes goes on; null where no link is kept that was made this way (D18). */
export async function recallCursor(
  context: Pick<Context, 'database'>,
  wanted: Omit<DriveCursorRow, 'link'>,
): Promise<string | null> {
  return context.database.read((queries) => findCursor(queries, wanted));
}

/** Keeps where the reading goes on. Called after the hints of its round are on their way, never before (bugs 5, 6). */
export async function keepCursor(context: Pick<Context, 'database'>, cursor: DriveCursorRow): Promise<void> {
  await context.database.read((queries) => saveCursor(queries, cursor));
}
