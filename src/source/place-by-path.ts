import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readlinkSync,
  realpathSync,
  type BigIntStats,
} from 'node:fs';
import { join } from 'node:path';
import { listFolder, PlaceChanged, type Entry, type Place } from './place.ts';

/**
 * The root where there is no `/proc/self/fd` (macOS, Windows): places are paths, checked one segment at a time.
 *
 * Weaker than descriptors. A file is refused when a folder above it was a link at the moment it was opened, or when
 * what was opened is not what was looked at; somebody who swaps a folder twice between two of these checks could still
 * get by. Let nobody write into the folder there who may not read what the process reads.
 */
export function openRootByPath(path: string): Place {
  const real = realpathSync(path);
  const place = new PathPlace(real, '');
  // Said as the system says it, so that both kinds of root fail alike.
  if (!place.stats.isDirectory()) throw Object.assign(new Error(`ENOTDIR: ${path}`), { code: 'ENOTDIR' });
  return place;
}

class PathPlace implements Place {
  readonly stats: BigIntStats;
  readonly #path: string;
  readonly #folder: string;

  constructor(path: string, folder: string) {
    this.#path = path;
    this.#folder = folder;
    this.stats = lstatSync(path, { bigint: true });
  }

  open(name: string): Place {
    return new PathPlace(this.#below(name), this.#path);
  }

  readLink(name: string): string {
    return readlinkSync(this.#below(name));
  }

  list(limit: number): readonly Entry[] {
    this.#mustBeReal(this.#path);
    return listFolder(this.#path, limit);
  }

  openToRead(): number {
    // Windows has neither flag.
    const flags = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOFOLLOW ?? 0);
    const descriptor = openSync(this.#path, flags);
    try {
      const opened = fstatSync(descriptor, { bigint: true });
      if (opened.dev !== this.stats.dev || opened.ino !== this.stats.ino) throw new PlaceChanged(this.#path);
      // After the open: a folder that was a link then would show here, unless it was swapped back (see above).
      this.#mustBeReal(this.#folder);
      return descriptor;
    } catch (error) {
      closeSync(descriptor);
      throw error;
    }
  }

  realPath(): string {
    return this.#path;
  }

  [Symbol.dispose](): void {
    // A path holds nothing open.
  }

  #below(name: string): string {
    // On Windows these would name a stream, a drive or a way up.
    if (process.platform === 'win32' && /[\\:]/.test(name)) {
      throw Object.assign(new Error(`ENOENT: ${name}`), { code: 'ENOENT' });
    }
    return name === '.' ? this.#path : join(this.#path, name);
  }

  #mustBeReal(path: string): void {
    if (realpathSync(path) !== path) throw new PlaceChanged(path);
  }
}
