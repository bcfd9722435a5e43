import { realpath, stat } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';

/** What a watcher is to watch for a set of folders. */
export interface WatchTargets {
  /** By the real path of a watched folder: the folders that were asked for and are watched through it. */
  readonly folders: ReadonlyMap<string, readonly string[]>;
  /** A text that differs when another watcher is needed: other folders, or a folder that is another one now (W05, W07). */
  readonly print: string;
}

/**
 * Finds what is to be watched, one system call after the other, so that a file system that hangs takes one thread (W27).
 *
 * Links are resolved here because chokidar, told not to follow links, watches a link itself and hears nothing of the
 * folder behind it: `~/OneDrive` is often a link. What a link leads to outside `root` is not watched (W21). For an absent
 * folder its nearest present ancestor is taken, until it appears.
 */
export async function findWatchTargets(root: string, folders: readonly string[]): Promise<WatchTargets> {
  const realRoot = await realpath(root).catch(() => root);
  const targets = new Map<string, string[]>();
  const prints: string[] = [];
  for (const folder of new Set(folders)) {
    const found = await findPresent(folder);
    const inside = folder !== root && isInside(root, folder);
    if (found === null || (inside && found.path !== realRoot && !isInside(realRoot, found.path))) continue;
    if (!targets.has(found.path)) prints.push(`${found.path}\n${found.identity}`);
    targets.set(found.path, [...(targets.get(found.path) ?? []), found.asked]);
  }
  return { folders: targets, print: prints.toSorted().join('\n') };
}

export function isInside(folder: string, path: string): boolean {
  return path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

/** The folder, or its nearest ancestor that is one; null where not even the uppermost can be seen. */
async function findPresent(
  folder: string,
): Promise<{ asked: string; path: string; identity: string } | null> {
  for (let candidate = folder; ; candidate = dirname(candidate)) {
    try {
      const path = await realpath(candidate);
      const found = await stat(path, { bigint: true });
      if (found.isDirectory()) return { asked: candidate, path, identity: `${found.dev}:${found.ino}` };
    } catch {
      // Absent, or not to be seen: then so is everything below it. A look says what is wrong with it.
    }
    if (dirname(candidate) === candidate) return null;
  }
}

/** Whether a path below a folder leads through a link, so that its file changes where the folder's watcher hears nothing. */
export async function isBehindLink(folder: string, path: string): Promise<boolean> {
  try {
    return (await realpath(path)) !== join(await realpath(folder), relative(folder, path));
  } catch {
    return false; // It is gone, and its going was to be announced like any change.
  }
}
