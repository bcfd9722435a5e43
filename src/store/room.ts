import { readFreeSpace } from './free-space.ts';

/** Below the smaller of the two there is no room for new versions: a small disk can be used, a large one to its end. */
export interface RoomLimits {
  readonly minFreeBytes: number;
  /** Of the whole volume, 0 to 1. */
  readonly minFreeShare: number;
}

const mebibyte = 1_048_576;

/** `reliability.md` 3.4: below 512 MB, or 5 % of a disk of less than 10 GB, refreshes are refused and reads go on. */
export const roomLimits: RoomLimits = { minFreeBytes: 512 * mebibyte, minFreeShare: 0.05 };

/** A folder whose volume must have room, and what a person calls that volume. */
export interface RoomPlace {
  readonly folder: string;
  readonly name: string;
}

/**
 * Why nothing may be captured now, in words for whoever asked: how much is free and on which disk, without a path
 * (T23); null where there is room. A full write-ahead log ends the server (finding 9), so captures stop long before.
 */
export async function findNoRoom(places: readonly RoomPlace[], limits = roomLimits): Promise<string | null> {
  for (const place of places) {
    const lack = await findLack(place, limits);
    if (lack !== null) return lack;
  }
  return null;
}

async function findLack({ folder, name }: RoomPlace, limits: RoomLimits): Promise<string | null> {
  // A folder that does not tell is no reason to refuse: a database that cannot write says so itself.
  const space = await readFreeSpace(folder).catch(() => null);
  if (space === null) return null;
  const { freeBytes, totalBytes } = space;
  const wanted = wantedBytes(totalBytes, limits);
  if (freeBytes >= wanted) return null;
  return `There is no space for new versions: ${inMebibytes(freeBytes)} of ${inMebibytes(totalBytes)} are free on the disk of ${name}, and ${inMebibytes(wanted)} must be. What is stored is served as before; make room, and refreshes work again.`;
}

/** How much must be free of a disk of this size. */
export function wantedBytes(totalBytes: number, limits = roomLimits): number {
  return Math.min(limits.minFreeBytes, limits.minFreeShare * totalBytes);
}

function inMebibytes(bytes: number): string {
  return `${Math.floor(bytes / mebibyte).toLocaleString('en-US')} MiB`;
}
