import { noSpace } from '../core/no-space.ts';
import type { Context } from './context.ts';

/**
 * Throws `UNAVAILABLE`, saying how much is free and where, while the disk of the database has no room for new versions
 * (F29, F30). Call it before anything large is written, and outside a transaction: it asks the file system.
 */
export async function requireRoom(context: Context): Promise<void> {
  const lack = await context.room();
  if (lack !== null) throw noSpace(lack);
}
