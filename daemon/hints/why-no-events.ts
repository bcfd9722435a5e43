import type { FileSystemType } from '../../src/source/file-system-type.ts';

/** Whether there are events: where the file system announces changes, in any case, or not at all. */
export const watchModes = ['auto', 'native', 'sweep'] as const;
export type WatchMode = (typeof watchModes)[number];

/**
 * Why a folder is not watched for events, as a sentence; null where it is. A file system that does not say what it is may
 * be watched like any other: the sweep tells when that is in vain (W15, `watching.md` 3.5).
 */
export async function whyNoEvents(
  mode: WatchMode,
  readType: () => Promise<FileSystemType | null>,
): Promise<string | null> {
  switch (mode) {
    case 'native':
      return null;
    case 'sweep':
      return 'Watching is switched off by the settings; changes are found by the sweep.';
    case 'auto': {
      const type = await readType();
      if (!type?.network) return null;
      return `The folder is on a file system of the type ${type.name}, where changes made elsewhere are not announced; they are found by the sweep.`;
    }
    default:
      return mode satisfies never;
  }
}
