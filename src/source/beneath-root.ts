import { quote } from '../core/quote.ts';
import type { Place } from './place.ts';
import { errorCode } from './system-error.ts';
import { maxFolders, Trail } from './trail.ts';

/** Links in one path, as many as Linux itself follows. */
const maxLinks = 40;

/** Where a path below the root leads. Disposing lets go of what was found. */
export type Walk = Disposable & { readonly throughLink: boolean } & (
    | { readonly state: 'found'; readonly place: Place }
    | {
        readonly state: 'absent';
        /** The first segment of the path, from 0, that is not there or is a link to nothing. */
        readonly segment: number;
      }
    | {
        readonly state: 'refused';
        readonly code: 'path_escapes_root' | 'unreadable';
        readonly message: string;
      }
  );

/**
 * Follows `path` from `root`, one segment at a time, without ever leaving it (T11).
 *
 * Symbolic links are followed here and not by the system: a relative target goes on from the folder the link is in, an
 * absolute one counts only when it is spelled below the root (`rootSpellings` are further ways to spell it), and is
 * then walked from the root again. `..` goes back to the folder the walk came from; above the root it is
 * `path_escapes_root`. More than 40 links lead to nothing, as a link to itself does.
 *
 * Throws `PlaceChanged` where a segment changed under the walk, and the system's error where one cannot be opened for
 * another reason than that it is not there.
 */
export function walkBeneath(root: Place, path: string, rootSpellings: readonly string[] = []): Walk {
  using trail = new Trail(root);
  const way = path.split('/').map((name, segment) => ({ name, segment }));
  let links = 0;
  for (let step = way.shift(); step !== undefined; step = way.shift()) {
    const { name, segment } = step;
    if (name === '' || name === '.') continue;
    if (name === '..') {
      if (!trail.goBack()) return refused('path_escapes_root', `${quote(path, 400)} leads above the root.`);
      continue;
    }
    const place = openOrNull(trail.here, name);
    if (place === null) return absent(segment, links > 0);
    if (place.stats.isSymbolicLink()) {
      place[Symbol.dispose]();
      const target = trail.followLink(name, rootSpellings);
      if (target === null) return refused('path_escapes_root', `${quote(path, 400)} links out of the root.`);
      if (++links > maxLinks) return absent(segment, true);
      way.unshift(...target.map((targetName) => ({ name: targetName, segment })));
    } else if (way.length === 0) {
      return found(place, links > 0);
    } else if (!place.stats.isDirectory()) {
      place[Symbol.dispose]();
      return absent(segment, links > 0);
    } else if (!trail.goInto(place)) {
      return refused('unreadable', `${quote(path, 400)} leads through more than ${maxFolders} folders.`);
    }
  }
  return found(trail.here.open('.'), links > 0);
}

const absentCodes = new Set(['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'ELOOP', 'ERR_INVALID_ARG_VALUE']);

function openOrNull(folder: Place, name: string): Place | null {
  try {
    return folder.open(name);
  } catch (error) {
    if (absentCodes.has(errorCode(error))) return null;
    throw error;
  }
}

const nothingHeld = {
  [Symbol.dispose](): void {
    // Only what was found is held.
  },
};

function found(place: Place, throughLink: boolean): Walk {
  return { state: 'found', place, throughLink, [Symbol.dispose]: () => place[Symbol.dispose]() };
}

function absent(segment: number, throughLink: boolean): Walk {
  return { state: 'absent', segment, throughLink, ...nothingHeld };
}

function refused(code: 'path_escapes_root' | 'unreadable', message: string): Walk {
  return { state: 'refused', code, message, throughLink: true, ...nothingHeld };
}
