import { stat } from 'node:fs/promises';
import { SettingsError, type Settings } from '../../config/settings.ts';
import type { Check } from '../core/check.ts';
import { diagnose } from '../operations/diagnose/diagnose.ts';
import type { DiskFacts } from '../operations/diagnose/disk.ts';
import { checkFaultySettings } from '../operations/diagnose/settings.ts';
import { readFileSystemType } from '../source/file-system-type.ts';
import { openLocalSource } from '../source/local-source.ts';
import { findPlaceholders } from '../source/placeholders.ts';
import { readRegistryFile } from '../source/registry-file.ts';
import { isRootOutOfReach, surveyRoot } from '../source/root-survey.ts';
import { readWatchLimits } from '../source/watch-limits.ts';
import { findEmbeddedPostgres } from '../store/embedded-postgres.ts';
import { connectionFile, readConnectionRecord } from '../store/embedded-postgres/credentials.ts';
import { readFileModes } from '../store/file-modes.ts';
import { readFreeSpace } from '../store/free-space.ts';
import { policyOf } from './policy.ts';
import { adminKeyPath } from './setup-database.ts';
import { webhookFacts } from './webhook.ts';

/** Checks this machine's settings, folder, registry, disk and database; where the settings are wrong, only those. */
export async function diagnoseHere(readSettings: () => Settings, clock: () => Date): Promise<Check[]> {
  const settings = settingsOrFaults(readSettings);
  if (settings instanceof SettingsError) return checkFaultySettings(settings.faults);
  const { localPath: root, registryPath } = settings;
  await using source = openLocalSource({ root, limits: { readers: 1 } });
  return await diagnose({
    clock,
    policy: policyOf(settings),
    idleSettings: settings.idle,
    root,
    registryPath,
    watchMode: settings.watchMode,
    watchEnvironments: settings.watchEnvironments,
    maxFileBytes: settings.maxFileBytes,
    source,
    findPlaceholders: (paths) => findPlaceholders(root, paths),
    readRegistry: () => readRegistryFile(registryPath),
    surveyRoot: () => surveyRoot(root),
    isRootOutOfReach: () => isRootOutOfReach(root),
    readFileSystem: () => readFileSystemType(root),
    readWatchLimits: () => readWatchLimits(),
    dataDir: settings.dataDir,
    findDatabase: async () =>
      settings.databaseUrl ?? (await findEmbeddedPostgres(settings.dataDir))?.applicationUrl ?? null,
    webhook: webhookFacts(settings),
    readDisk: () => readDisk(settings),
  });
}

function settingsOrFaults(readSettings: () => Settings): Settings | SettingsError {
  try {
    return readSettings();
  } catch (error) {
    if (error instanceof SettingsError) return error;
    throw error;
  }
}

/** The data folder and, where it lies on another disk, the embedded cluster. */
async function readDisk(settings: Settings): Promise<DiskFacts> {
  const { dataDir } = settings;
  const [[dataFolder = { path: dataDir, mode: null }], secretFiles] = await Promise.all([
    readFileModes([dataDir]),
    readFileModes([adminKeyPath(settings), connectionFile(dataDir)]),
  ]);
  if (dataFolder.mode === null) return { spaces: [], dataFolder, secretFiles };
  const spaces = [{ path: dataDir, ...(await readFreeSpace(dataDir)) }];
  // A record that cannot be read is told with the database, which is found by it.
  const record = settings.databaseUrl === null ? await readConnectionRecord(dataDir).catch(() => null) : null;
  const clusterDir = record?.clusterDir;
  if (clusterDir !== undefined && !(await onOneDisk(dataDir, clusterDir)))
    spaces.push({ path: clusterDir, ...(await readFreeSpace(clusterDir)) });
  return { spaces, dataFolder, secretFiles };
}

async function onOneDisk(one: string, other: string): Promise<boolean> {
  const [left, right] = await Promise.all([stat(one), stat(other)]);
  return left.dev === right.dev;
}
