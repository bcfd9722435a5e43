import { dirname, join, posix, relative, sep } from 'node:path';
import type { Logger } from '../../src/core/logger.ts';
import type { Clock } from '../clock.ts';
import { LocalWatcher, type FolderHint } from './local-watcher.ts';
import { Sweep } from './sweep.ts';

export interface LocalHintsOptions {
  readonly root: string;
  readonly registryPath: string;
  readonly sweepMs: number;
  /** False: no events, the sweep alone. */
  readonly watcher: boolean;
  readonly statPrint: (path: string) => Promise<string>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Something happened in this folder, named from the root; `.` is the root itself. */
  readonly onFiles: (hint: {
    readonly folder: string;
    readonly file: string | null;
    readonly burst: boolean;
  }) => void;
  readonly onRegistry: () => Promise<void>;
  readonly onTrouble: () => void;
}

/** The two quick nets over a local folder: events of a watcher, and a stat sweep that makes up for lost ones. */
export class LocalHints implements AsyncDisposable {
  readonly #options: LocalHintsOptions;
  readonly #watcher: LocalWatcher;
  readonly #sweep: Sweep;
  #files: readonly string[] = [];

  constructor(options: LocalHintsOptions) {
    this.#options = options;
    this.#sweep = new Sweep(options.statPrint);
    this.#watcher = new LocalWatcher({
      onHint: (hint) => this.#onEvent(hint),
      onTrouble: (error) => {
        options.logger.warn(`the watcher failed: ${error instanceof Error ? error.message : String(error)}`);
        options.onTrouble();
      },
    });
  }

  /** Watches the folders of these files, named from the root, and the registry. */
  async watch(files: readonly string[]): Promise<void> {
    this.#files = files;
    if (this.#options.watcher) await this.#watcher.watch(this.#folders());
  }

  async sweepForever(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#options.clock.sleep(this.#options.sweepMs, signal).catch(() => undefined);
      if (!signal.aborted) await this.#sweepOnce();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#watcher[Symbol.asyncDispose]();
  }

  #folders(): string[] {
    const { root, registryPath } = this.#options;
    return [root, dirname(registryPath), ...this.#files.map((file) => dirname(join(root, file)))];
  }

  async #sweepOnce(): Promise<void> {
    const { root, registryPath } = this.#options;
    const files = this.#files.map((file) => join(root, file));
    const changed = await this.#sweep.run([
      registryPath,
      root,
      ...new Set(this.#folders().slice(2)),
      ...files,
    ]);
    for (const path of changed) {
      if (path === registryPath) await this.#options.onRegistry();
      else if (files.includes(path)) this.#hint(dirname(path), this.#nameOf(path), false);
      else this.#hint(path, null, true);
    }
    // A folder that has come or gone changes what can be watched.
    if (changed.length > 0 && this.#options.watcher) await this.#watcher.watch(this.#folders());
  }

  #onEvent(hint: FolderHint): void {
    const path = join(hint.folder, hint.name);
    if (path === this.#options.registryPath) {
      void this.#options.onRegistry();
      return;
    }
    const listed = this.#files.includes(this.#nameOf(path));
    this.#hint(hint.folder, listed ? this.#nameOf(path) : null, !(listed && hint.change));
  }

  #hint(folder: string, file: string | null, burst: boolean): void {
    const name = this.#nameOf(folder);
    if (name.startsWith('..')) return;
    this.#options.onFiles({ folder: name === '' ? '.' : name, file, burst });
  }

  #nameOf(path: string): string {
    return relative(this.#options.root, path).split(sep).join(posix.sep);
  }
}
