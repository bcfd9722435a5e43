import {
  closeSync,
  constants,
  fstatSync,
  opendirSync,
  openSync,
  readlinkSync,
  type BigIntStats,
} from 'node:fs';

/** A name in a folder, and what it is by itself: a link to a folder is a link. */
export interface Entry {
  readonly name: string;
  readonly kind: 'folder' | 'link' | 'other';
}

/**
 * One thing below the root that the walk holds on to: a folder to go on from, a link to follow, a file to read, or
 * something that is none of these. It stays the same thing, whatever happens to its name meanwhile. Disposing lets go.
 *
 * Every method throws the system's errors as they are, and `PlaceChanged` where a name has come to mean something else.
 */
export interface Place extends Disposable {
  readonly stats: BigIntStats;
  /** What `name` (one segment) in this folder is, itself and not what it may link to; nothing is read or woken. */
  open(name: string): Place;
  /** Where the link `name` in this folder leads, as it is written there. */
  readLink(name: string): string;
  /** At most `limit` entries of this folder, in no order. */
  list(limit: number): readonly Entry[];
  /** A descriptor to read this very file, which the caller closes; never waits for a writer. */
  openToRead(): number;
  /** Where this folder is now, for comparing link targets only. */
  realPath(): string;
}

/** A name meant one thing and then another within one step: look again. */
export class PlaceChanged extends Error {
  override readonly name = 'PlaceChanged';
}

/**
 * The root as an open folder (K-006). A link in the root's own path is followed, since the operator wrote that path;
 * nothing below it is ever opened by following.
 *
 * Every later step goes through `/proc/self/fd`, one name at a time, so that it starts from what is held open and not
 * from a path that somebody can swap meanwhile. This is openat2's RESOLVE_BENEATH in the only form Node has (T11).
 */
export function openRootByDescriptor(path: string): Place {
  return openDescriptor(path, linux.path | constants.O_DIRECTORY);
}

/** `O_PATH`, for which Node has no name: holds a thing without opening it, so no device, pipe or lock notices. */
const linux = { path: 0o10000000 };

function openDescriptor(path: string, flags: number): Place {
  const descriptor = openSync(path, flags);
  try {
    return new DescriptorPlace(descriptor);
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}

class DescriptorPlace implements Place {
  readonly stats: BigIntStats;
  readonly #descriptor: number;

  constructor(descriptor: number) {
    this.#descriptor = descriptor;
    this.stats = fstatSync(descriptor, { bigint: true });
  }

  get #path(): string {
    return `/proc/self/fd/${this.#descriptor}`;
  }

  open(name: string): Place {
    return openDescriptor(`${this.#path}/${name}`, linux.path | constants.O_NOFOLLOW);
  }

  readLink(name: string): string {
    return readlinkSync(`${this.#path}/${name}`);
  }

  list(limit: number): readonly Entry[] {
    return listFolder(this.#path, limit);
  }

  openToRead(): number {
    // No O_NOFOLLOW: the path is the kernel's own link to what this descriptor holds, and cannot be swapped.
    return openSync(this.#path, constants.O_RDONLY | constants.O_NONBLOCK);
  }

  realPath(): string {
    return readlinkSync(this.#path);
  }

  [Symbol.dispose](): void {
    closeSync(this.#descriptor);
  }
}

/** At most `limit` entries of the folder at `path`: a folder of a million names costs no more than that. */
export function listFolder(path: string, limit: number): readonly Entry[] {
  const folder = opendirSync(path, { bufferSize: Math.min(limit, 256) });
  try {
    const entries: Entry[] = [];
    while (entries.length < limit) {
      const entry = folder.readSync();
      if (entry === null) break;
      const kind = entry.isDirectory() ? 'folder' : entry.isSymbolicLink() ? 'link' : 'other';
      entries.push({ name: entry.name, kind });
    }
    return entries;
  } finally {
    folder.closeSync();
  }
}
