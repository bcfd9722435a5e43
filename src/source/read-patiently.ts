import type { RelativePath } from '../core/package.ts';
import { quote } from '../core/quote.ts';
import { readListedFile, refused, type ReadFile, type View } from './listed-file.ts';
import { PlaceChanged } from './place.ts';
import { errorCode, isOwnTrouble } from './system-error.ts';

export interface Patience {
  /** Waits before each further try, in milliseconds; together less than a reader may go without progress. */
  readonly pausesMs: readonly number[];
  readonly sleep: (ms: number) => Promise<unknown>;
}

/**
 * Reads one listed file and waits out what passes by itself: a sync client, an editor or a virus scanner holds it
 * (W31). What does not pass is a refusal. Null where the file changed under the reading.
 *
 * Throws the system's error where this process is in trouble and not the file.
 */
export async function readPatiently(
  path: RelativePath,
  view: View,
  patience: Patience,
): Promise<ReadFile | null> {
  const pausesMs = [...patience.pausesMs];
  for (;;) {
    try {
      return readListedFile(path, view);
    } catch (error) {
      if (error instanceof PlaceChanged) return null;
      const pauseMs = passing.has(errorCode(error)) ? pausesMs.shift() : undefined;
      if (pauseMs === undefined) return refusedFor(path, error);
      await patience.sleep(pauseMs);
    }
  }
}

const passing = new Set(['EBUSY', 'EAGAIN', 'EDEADLK', 'EINTR', 'ESTALE', 'ETXTBSY']);
// There a file that somebody holds open looks like one without permission.
if (process.platform === 'win32') ['EPERM', 'EACCES'].forEach((code) => passing.add(code));

function refusedFor(relativePath: RelativePath, error: unknown): ReadFile {
  if (isOwnTrouble(error)) throw error;
  const [code, file] = [errorCode(error), quote(relativePath, 400)];
  // What macOS answers for a file that is only in the cloud and does not come (W26).
  if (code === 'EDEADLK') {
    const message = `${file} is only in the cloud and could not be downloaded; keep it on this device.`;
    return refused({ state: 'refused', relativePath, code: 'not_downloaded', message });
  }
  const why = ['EACCES', 'EPERM'].includes(code) ? 'this user has no permission' : code;
  const message = `${file} is there and cannot be read: ${why}.`;
  return refused({ state: 'refused', relativePath, code: 'unreadable', message });
}
