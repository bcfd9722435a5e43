import { closeSync, fstatSync, readSync, type BigIntStats } from 'node:fs';
import { sha256 } from '../core/checksum.ts';
import { reach } from '../core/failpoint.ts';
import type { FileLook, RefusedFile } from '../core/look.ts';
import type { RelativePath } from '../core/package.ts';
import { quote } from '../core/quote.ts';
import { walkBeneath, type Walk } from './beneath-root.ts';
import { PlaceChanged, type Place } from './place.ts';

/** What one look reads from. */
export interface View {
  readonly root: Place;
  /** Further spellings of the root that an absolute link below it may use. */
  readonly rootSpellings: readonly string[];
  readonly maxFileBytes: number;
  readonly withContent: boolean;
}

export interface ReadFile {
  readonly look: FileLook;
  readonly throughLink: boolean;
  /** The first segment of the path that is not there; null unless the file is absent. */
  readonly missingSegment: number | null;
  /** What `readSignature` must still answer at the end of the look; null where it no longer matters. */
  readonly signature: string | null;
}

/**
 * Reads one listed file whole, or says why not: its exact bytes if it is a regular file below the root of at most
 * `maxFileBytes` (K-006, K-084), else `absent` or `refused`. Never waits for a pipe or a device, and reads no more
 * than one byte past the size the file claims (T39).
 *
 * Throws `PlaceChanged` where the file changed while it was read, and the system's error where one stands in the way.
 */
export function readListedFile(relativePath: RelativePath, view: View): ReadFile {
  using walk = walkBeneath(view.root, relativePath, view.rootSpellings);
  const { throughLink } = walk;
  switch (walk.state) {
    case 'absent': {
      const look = { state: 'absent', relativePath, hints: [] } as const;
      return { look, throughLink, missingSegment: walk.segment, signature: walk.state };
    }
    case 'refused':
      return refused({ state: 'refused', relativePath, code: walk.code, message: walk.message });
    case 'found':
      return readFound(relativePath, walk, view);
    default:
      return walk satisfies never;
  }
}

/** What can be told about a listed file without reading it: two equal signatures, and nobody has touched it between. */
export function readSignature(relativePath: RelativePath, view: View): string {
  using walk = walkBeneath(view.root, relativePath, view.rootSpellings);
  return walk.state === 'found' ? fingerprint(walk.place.stats) : walk.state;
}

/** A file that is refused for good: the look fails with it, whatever it becomes meanwhile. */
export function refused(look: RefusedFile): ReadFile {
  return { look, throughLink: false, missingSegment: null, signature: null };
}

function readFound(
  relativePath: RelativePath,
  walk: Extract<Walk, { state: 'found' }>,
  view: View,
): ReadFile {
  const refusal = findRefusal(walk.place.stats, relativePath, view.maxFileBytes);
  if (refusal !== null) return refused({ state: 'refused', relativePath, ...refusal });
  const { content, signature } = readWhole(walk.place);
  const look = {
    state: 'present',
    relativePath,
    checksum: sha256(content),
    sizeBytes: content.length,
    content: view.withContent ? content : null,
  } as const;
  return { look, throughLink: walk.throughLink, missingSegment: null, signature };
}

function findRefusal(
  stats: BigIntStats,
  relativePath: string,
  maxFileBytes: number,
): Pick<RefusedFile, 'code' | 'message'> | null {
  const file = quote(relativePath, 400);
  if (!stats.isFile()) {
    return { code: 'not_regular_file', message: `${file} is ${kindOf(stats)}, not a regular file.` };
  }
  // A second name of the same bytes cannot be told from one outside the root, so it counts as outside (F54).
  if (stats.nlink > 1n) {
    const message = `${file} has ${stats.nlink} names (hard links), and another one may lie outside the root; put a copy in its place.`;
    return { code: 'path_escapes_root', message };
  }
  if (stats.size > BigInt(maxFileBytes)) {
    return {
      code: 'too_large',
      message: `${file} has ${stats.size} bytes; at most ${maxFileBytes} are accepted.`,
    };
  }
  return null;
}

function kindOf(stats: BigIntStats): string {
  if (stats.isDirectory()) return 'a folder';
  if (stats.isFIFO()) return 'a named pipe';
  if (stats.isSocket()) return 'a socket';
  return stats.isCharacterDevice() || stats.isBlockDevice() ? 'a device' : 'something else';
}

function readWhole(place: Place): { content: Uint8Array; signature: string } {
  const descriptor = place.openToRead();
  try {
    const before = fstatSync(descriptor, { bigint: true });
    const content = readAtMost(descriptor, Number(before.size) + 1);
    const after = fstatSync(descriptor, { bigint: true });
    const signature = fingerprint(before);
    // The size is compared too: a read that ends early is torn, whatever the times say (W40).
    if (signature !== fingerprint(after) || BigInt(content.length) !== after.size) throw new PlaceChanged();
    return { content, signature };
  } finally {
    closeSync(descriptor);
  }
}

function readAtMost(descriptor: number, limit: number): Uint8Array {
  const bytes = new Uint8Array(limit);
  let length = 0;
  while (length < limit) {
    const count = readSync(descriptor, bytes, length, limit - length, null);
    if (count === 0) break;
    length += count;
    reach('middle of a file');
  }
  return bytes.subarray(0, length);
}

/** Device, inode, size and both times: what a change of the bytes is bound to move, unless the clock is too coarse. */
function fingerprint(stats: BigIntStats): string {
  return [stats.dev, stats.ino, stats.size, stats.mtimeNs, stats.ctimeNs].join(':');
}
