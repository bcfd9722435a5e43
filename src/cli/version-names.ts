import { versionName } from '../core/package.ts';
import type { PackageRow } from './rows.ts';

/** The highest number given out; null where there is none. */
export function newestNumber(row: PackageRow): number | null {
  return row.nextNumber > 1 ? row.nextNumber - 1 : null;
}

/** The newest version's number, while it is not active and nothing holds it. */
export function pendingNumber(row: PackageRow): number | null {
  const newest = newestNumber(row);
  return row.hold !== null || newest === row.activeNumber ? null : newest;
}

/** `v3` for 3. */
export function nameOf(number: number | null): string | null {
  return number === null ? null : versionName(number);
}
