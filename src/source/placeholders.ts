import type { BigIntStats } from 'node:fs';
import type { RelativePath } from '../core/package.ts';
import { walkBeneath } from './beneath-root.ts';
import { openRootHere } from './open-root-here.ts';
import { PlaceChanged } from './place.ts';
import { errorCode, isOwnTrouble } from './system-error.ts';

/**
 * The listed files that are only names so far: their bytes lie in the cloud and come down when they are first read
 * (W26). Nothing is read, so nothing is downloaded. Only macOS can tell; elsewhere the answer is empty.
 */
export function findPlaceholders(
  root: string,
  paths: readonly RelativePath[],
  platform: NodeJS.Platform = process.platform,
): readonly RelativePath[] {
  if (platform !== 'darwin') return [];
  using place = openRootHere(root);
  return paths.filter((path) => {
    try {
      using walk = walkBeneath(place, path, [root]);
      return walk.state === 'found' && isDataless(walk.place.stats);
    } catch (error) {
      // What cannot be opened is told by the look itself.
      if (error instanceof PlaceChanged || (errorCode(error) !== '' && !isOwnTrouble(error))) return false;
      throw error;
    }
  });
}

/** A file that has bytes and takes no room. */
function isDataless(stats: BigIntStats): boolean {
  return stats.isFile() && stats.size > 0n && stats.blocks === 0n;
}
