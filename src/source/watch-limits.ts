import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** How much one user of this machine may watch through inotify. */
export interface WatchLimits {
  readonly maxWatches: number;
  readonly maxInstances: number;
}

/** The kernel's limits on file events; null where there are none to read (another system than Linux). */
export async function readWatchLimits(folder = '/proc/sys/fs/inotify'): Promise<WatchLimits | null> {
  const [maxWatches, maxInstances] = await Promise.all(
    ['max_user_watches', 'max_user_instances'].map((name) => readNumber(join(folder, name))),
  );
  return typeof maxWatches === 'number' && typeof maxInstances === 'number'
    ? { maxWatches, maxInstances }
    : null;
}

async function readNumber(path: string): Promise<number | null> {
  try {
    return Number(await readFile(path, 'utf8'));
  } catch (error) {
    if (['ENOENT', 'EACCES'].includes((error as { code?: string }).code ?? '')) return null;
    throw error;
  }
}
