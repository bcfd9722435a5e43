import { basename, dirname, join } from 'node:path';
import { watch, type FSWatcher } from 'chokidar';
import type { WatchTargets } from './watch-targets.ts';

/** Makes one watcher of folders: the edge at which a test takes hold of it. */
export type OpenWatcher = (folders: readonly string[]) => FSWatcher;

/** Watches what lies directly in these folders, each change told as it comes: the waiting is done elsewhere (W02). */
export const openWatcher: OpenWatcher = (folders) =>
  watch([...folders], { depth: 0, ignoreInitial: true, followSymlinks: false, awaitWriteFinish: false });

/** What a watcher saw, as a hint: at this path, named as it was asked for, something happened. */
export interface WatchEvent {
  readonly path: string;
  /** Whether it was an ordinary change of a file; anything else may be a part of something greater. */
  readonly change: boolean;
  /** Whether a folder has come or gone, so that something else may have to be watched. */
  readonly folders: boolean;
}

export interface WatcherListener {
  readonly onEvent: (event: WatchEvent) => void;
  /** The system told something, whatever comes of it; null where it did not say of what (W10). */
  readonly onRaw: (path: string | null) => void;
  readonly onError: (error: unknown) => void;
  readonly onReady: () => void;
}

/** Hears everything a new watcher says; in the turn of its making, since it begins its work in a later one. */
export function listenTo(watcher: FSWatcher, folders: WatchTargets['folders'], to: WatcherListener): void {
  watcher.on('error', to.onError);
  watcher.on('ready', to.onReady);
  watcher.on('raw', (_, name, details) => {
    const { watchedPath } = details as { watchedPath: string };
    if (name === null) to.onRaw(null);
    else for (const path of asAsked(join(watchedPath, name), folders)) to.onRaw(path);
  });
  watcher.on('all', (event, path) => {
    const kind = { change: event === 'change', folders: event === 'addDir' || event === 'unlinkDir' };
    for (const asked of asAsked(path, folders)) to.onEvent({ path: asked, ...kind });
  });
}

/**
 * Lets a watcher go. chokidar takes every listener off, also the one for errors, and an error that comes afterwards would
 * end the process (W23), so one is put back.
 */
export async function closeWatcher(watcher: FSWatcher): Promise<void> {
  const closing = watcher.close();
  watcher.on('error', () => undefined); // Of a watcher that is not used any more: nothing follows from it.
  await closing;
}

/** The spellings of a real path under which it was asked for. */
function asAsked(path: string, folders: WatchTargets['folders']): readonly string[] {
  const itself = folders.get(path);
  if (itself !== undefined) return itself;
  return (folders.get(dirname(path)) ?? []).map((folder) => join(folder, basename(path)));
}
