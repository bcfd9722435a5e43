import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { watch, type FSWatcher } from 'chokidar';

/** What a watcher saw, as a hint: somewhere below this folder something happened. */
export interface FolderHint {
  readonly folder: string;
  readonly name: string;
  /** Whether it was an ordinary change of a file. */
  readonly change: boolean;
}

export interface LocalWatcherOptions {
  readonly onHint: (hint: FolderHint) => void;
  /** The watcher has lost its way; everything may have changed. */
  readonly onTrouble: (error: unknown) => void;
}

/**
 * Watches folders, never single files (a save that replaces a file would leave the watch on the old one), through
 * chokidar: a source of hints, never of facts (`watching.md` 3.1).
 */
export class LocalWatcher implements AsyncDisposable {
  readonly #options: LocalWatcherOptions;
  #watcher: FSWatcher | undefined;
  #folders = '';

  constructor(options: LocalWatcherOptions) {
    this.#options = options;
  }

  /** Watches exactly these folders from now on; for one that is absent its nearest ancestor, until it appears. */
  async watch(folders: readonly string[]): Promise<void> {
    const present = [...new Set(folders.map(nearestPresent))].toSorted();
    const print = present.join('\n');
    if (print === this.#folders) return;
    this.#folders = print;
    await this.#watcher?.close();
    this.#watcher = watch(present, {
      depth: 0,
      ignoreInitial: true,
      followSymlinks: false,
      awaitWriteFinish: false,
    });
    this.#watcher.on('all', (event, path) => {
      this.#options.onHint({ folder: dirname(path), name: basename(path), change: event === 'change' });
    });
    this.#watcher.on('error', (error) => this.#options.onTrouble(error));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#watcher?.close();
  }
}

function nearestPresent(folder: string): string {
  let candidate = folder;
  while (!existsSync(candidate) && dirname(candidate) !== candidate) candidate = join(candidate, '..');
  return candidate;
}
