import type { Check } from '../../core/check.ts';
import { SourceError } from '../../core/errors.ts';
import type { PackageLook } from '../../core/look.ts';
import type { Registry } from '../../core/package.ts';
import { checkFiles, type FilePorts } from './files.ts';
import type { Known } from './known.ts';
import { checkRoot, type FileSystemFacts, type RootFacts } from './root.ts';
import { told } from './told.ts';
import { checkWatcher, type WatchFacts } from './watcher.ts';

/** A folder on this machine's disks as the doctor asks it. */
export interface FolderPorts {
  readonly kind: 'folder';
  readonly root: string;
  readonly watchMode: WatchFacts['watchMode'];
  readonly surveyRoot: () => Promise<RootFacts>;
  /** Whether this user may not pass through a folder above the root; asked only where the root answered. */
  readonly isRootOutOfReach: () => Promise<boolean>;
  readonly readFileSystem: () => Promise<FileSystemFacts>;
  readonly readWatchLimits: () => Promise<WatchFacts['limits']>;
}

/** The root, every listed file, and how changes are noticed. */
export async function diagnoseFolder(
  ports: FolderPorts & FilePorts,
  registry: Registry | null,
  known: Known | null,
): Promise<Check[]> {
  const { root, watchMode } = ports;
  // Nothing else asks a root that does not answer: only a reader can be killed.
  const look = await lookAtRoot(ports);
  let fileSystem: FileSystemFacts | null = null;
  let facts: RootFacts | null = null;
  const checks = await told('root', async () => {
    if (look.root === 'trouble') {
      const isOutOfReach = look.code === 'root_missing' && (await ports.isRootOutOfReach());
      return checkRoot({ root, look, facts, isOutOfReach, fileSystem });
    }
    fileSystem = await ports.readFileSystem();
    facts = await ports.surveyRoot();
    return checkRoot({ root, look, facts, isOutOfReach: false, fileSystem });
  });
  const files = await told('files', async () =>
    // Where the root may not be entered each file would only say so once more.
    registry === null || look.root === 'trouble' || facts?.mayPass === false
      ? []
      : checkFiles(registry, ports, known),
  );
  const watcher = await told('watcher', async () => {
    const limits = await ports.readWatchLimits();
    return checkWatcher({ watchMode, fileSystem, limits, registry, daemons: known?.daemons ?? [] });
  });
  return [...checks, ...files, ...watcher];
}

async function lookAtRoot({ source, maxFileBytes }: FilePorts): Promise<PackageLook> {
  try {
    return await source.look([], { withContent: false, maxFileBytes });
  } catch (error) {
    if (!(error instanceof SourceError)) throw error;
    return { root: 'trouble', code: 'unreadable', message: error.message };
  }
}
