import type { BundleLine } from './checksum.ts';

/** One file in two versions. */
export interface FilePair<File> {
  readonly before: File;
  readonly after: File;
}

/** What leads from one manifest to another; every list in load order, what is gone in that of the first. */
export interface ManifestDiff<File> {
  readonly added: readonly File[];
  readonly removed: readonly File[];
  /** The same path with other content. */
  readonly changed: readonly FilePair<File>[];
  /** The same content at a path that is new, from one that is gone. */
  readonly renamed: readonly FilePair<File>[];
  /** Whether the files that both hold, renamed ones included, stand in another order among themselves. */
  readonly reordered: boolean;
}

/**
 * Compares two manifests, each in load order with every path once. Only what a bundle checksum tells counts: paths,
 * contents and their order, not load-order numbers, required flags or labels. The other way round it gives the mirror
 * image, and two equal manifests give nothing.
 */
export function diffManifests<File extends BundleLine>(
  from: readonly File[],
  to: readonly File[],
): ManifestDiff<File> {
  const beforeByPath = new Map(from.map((file) => [file.relativePath, file]));
  const afterPaths = new Set(to.map((file) => file.relativePath));
  const kept = to.flatMap((after) => pairOf(beforeByPath.get(after.relativePath), after));
  const gone = from.filter((file) => !afterPaths.has(file.relativePath));
  const fresh = to.filter((file) => !beforeByPath.has(file.relativePath));
  const renamed = pairByContent(gone, fresh);
  const [left, arrived] = [new Set(renamed.map(beforeOf)), new Set(renamed.map(afterOf))];
  return {
    added: fresh.filter((file) => !arrived.has(file)),
    removed: gone.filter((file) => !left.has(file)),
    changed: kept.filter(({ before, after }) => before.checksum !== after.checksum),
    renamed,
    reordered: standsOtherwise([...kept, ...renamed], from, to),
  };
}

function pairOf<File>(before: File | undefined, after: File): FilePair<File>[] {
  return before === undefined ? [] : [{ before, after }];
}

/** Of several files with one content the first that is gone goes with the first that is new, and so on, each once. */
function pairByContent<File extends BundleLine>(
  gone: readonly File[],
  fresh: readonly File[],
): FilePair<File>[] {
  const waiting = Map.groupBy(gone, (file) => file.checksum);
  return fresh.flatMap((after) => pairOf(waiting.get(after.checksum)?.shift(), after));
}

function standsOtherwise<File>(
  pairs: readonly FilePair<File>[],
  from: readonly File[],
  to: readonly File[],
): boolean {
  const places = new Map(from.map((file, place) => [file, place]));
  const placeBefore = new Map(pairs.map(({ before, after }) => [after, places.get(before) ?? 0]));
  const inNewOrder = to.flatMap((file) => placeBefore.get(file) ?? []);
  return inNewOrder.some((place, index) => place < (inNewOrder[index - 1] ?? 0));
}

function beforeOf<File>({ before }: FilePair<File>): File {
  return before;
}

function afterOf<File>({ after }: FilePair<File>): File {
  return after;
}
