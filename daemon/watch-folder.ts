import { seeRoot } from '../src/source/root-sight.ts';
import { LocalHints, type LocalHintsOptions } from './hints/local-hints.ts';
import type { WatchedSource } from './watched-source.ts';

export type WatchFolderOptions = Pick<
  LocalHintsOptions,
  'root' | 'sweepMs' | 'watchMode' | 'statPrint' | 'openWatcher' | 'readFileSystemType'
>;

/** Time from one observation of a folder to the next. */
const everyMs = 1000;

/** Patience with a file system that does not answer. */
const answerMs = 2000;

/** A folder on this machine's disks as the daemon watches it. */
export function watchFolder(options: WatchFolderOptions): WatchedSource {
  const { root } = options;
  return {
    root: { path: root, everyMs, answerMs, see: (required) => seeRoot(root, required) },
    openHints: (listener) => {
      const timeOfDay = () => listener.context.clock().getTime();
      return new LocalHints({ ...options, ...listener, timeOfDay });
    },
  };
}
