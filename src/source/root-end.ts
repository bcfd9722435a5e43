import { statSync } from 'node:fs';
import { SourceError } from '../core/errors.ts';
import { quote } from '../core/quote.ts';
import type { RootEnd } from './look-steps.ts';
import type { Place } from './place.ts';
import { errorCode, isOwnTrouble } from './system-error.ts';

/** The open root, or why there is none: absent, no folder, out of reach (F50). */
export function openRoot(path: string, open: (path: string) => Place): Place | RootEnd {
  try {
    return open(path);
  } catch (error) {
    if (isOwnTrouble(error)) throw error;
    return missingRoot(path, error);
  }
}

/**
 * How the look ended for the root it was read from: still there, gone or empty. Empty is only asked when no file was
 * found, and means an unmounted or signed-out folder, never that every file was deleted (W08).
 *
 * Throws `SourceError` `retry` where another folder has taken its place.
 */
export function endRoot(path: string, root: Place, anyPresent: boolean): RootEnd {
  const rootIdentity = identityOf(root.stats);
  let now: string;
  try {
    now = identityOf(statSync(path, { bigint: true }));
  } catch (error) {
    return missingRoot(path, error);
  }
  if (now !== rootIdentity) {
    throw new SourceError('retry', `The root folder ${quote(path, 400)} was exchanged while it was read.`);
  }
  if (anyPresent || !isEmpty(root)) return { root: 'present', rootIdentity };
  const message = `The root folder ${quote(path, 400)} is empty; it may not be mounted or not be synced.`;
  return { root: 'trouble', code: 'root_empty', message, rootIdentity };
}

function isEmpty(root: Place): boolean {
  try {
    return root.list(1).length === 0;
  } catch {
    // A folder that may be passed through and not be listed.
    return false;
  }
}

function identityOf({ dev, ino }: { readonly dev: bigint; readonly ino: bigint }): string {
  return `${dev}:${ino}`;
}

function missingRoot(path: string, error: unknown): RootEnd {
  const code = errorCode(error);
  const message = `The root folder ${quote(path, 400)} ${reasons[code] ?? `cannot be opened (${code})`}.`;
  return { root: 'trouble', code: 'root_missing', message, rootIdentity: null };
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'is not there',
  ENOTDIR: 'is not a folder',
  EACCES: 'may not be opened by this user',
};
