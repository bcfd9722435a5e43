import { stat } from 'node:fs/promises';
import { SettingsError, type Settings } from '../../config/settings.ts';
import type { Check } from '../core/check.ts';
import { noMemory } from '../core/item-memory.ts';
import { diagnose, type DiagnosisPorts } from '../operations/diagnose/diagnose.ts';
import type { DiskFacts } from '../operations/diagnose/disk.ts';
import { checkFaultySettings } from '../operations/diagnose/settings.ts';
import { readFileSystemType } from '../source/file-system-type.ts';
import { openTokens } from '../source/graph/access-token.ts';
import { usualHabits } from '../source/graph/graph-habits.ts';
import type { GraphCloud } from '../source/graph/graph.ts';
import { surveyDrive } from '../source/graph/survey-drive.ts';
import { openLocalSource } from '../source/local-source.ts';
import { findPlaceholders } from '../source/placeholders.ts';
import { readRegistryFile } from '../source/registry-file.ts';
import { isRootOutOfReach, surveyRoot } from '../source/root-survey.ts';
import { readWatchLimits } from '../source/watch-limits.ts';
import { findEmbeddedPostgres } from '../store/embedded-postgres.ts';
import { connectionFile, readConnectionRecord } from '../store/embedded-postgres/credentials.ts';
import { readFileModes } from '../store/file-modes.ts';
import { readFreeSpace } from '../store/free-space.ts';
import { openDrive } from './open-source.ts';
import { policyOf } from './policy.ts';
import { adminKeyPath } from './setup-database.ts';
import { webhookFacts } from './webhook.ts';

/** Checks this machine's settings, folder, registry, disk and database; where the settings are wrong, only those. */
export async function diagnoseHere(readSettings: () => Settings, clock: () => Date): Promise<Check[]> {
  const settings = settingsOrFaults(readSettings);
  if (settings instanceof SettingsError) return checkFaultySettings(settings.faults);
  const { registryPath } = settings;
  await using asked = await openAsked(settings, clock);
  return await diagnose({
    clock,
    policy: policyOf(settings),
    idleSettings: settings.idle,
    registryPath,
    place: asked.place,
    watchEnvironments: settings.watchEnvironments,
    maxFileBytes: settings.maxFileBytes,
    source: asked.source,
    findPlaceholders: asked.findPlaceholders,
    readRegistry: () => readRegistryFile(registryPath),
    dataDir: settings.dataDir,
    findDatabase: async () =>
      settings.databaseUrl ?? (await findEmbeddedPostgres(settings.dataDir))?.applicationUrl ?? null,
    webhook: webhookFacts(settings),
    readDisk: () => readDisk(settings),
  });
}

/** The source, and what is asked of it beside its files. */
type Asked = AsyncDisposable & Pick<DiagnosisPorts, 'place' | 'source' | 'findPlaceholders'>;

async function openAsked(settings: Settings, clock: () => Date): Promise<Asked> {
  if (settings.source === 'graph') return openAskedDrive(settings, clock);
  const { localPath: root, watchMode } = settings;
  const source = openLocalSource({ root, limits: { readers: 1 } });
  return {
    source,
    findPlaceholders: (paths) => findPlaceholders(root, paths),
    place: {
      kind: 'folder',
      root,
      watchMode,
      surveyRoot: () => surveyRoot(root),
      isRootOutOfReach: () => isRootOutOfReach(root),
      readFileSystem: () => readFileSystemType(root),
      readWatchLimits: () => readWatchLimits(),
    },
    [Symbol.asyncDispose]: () => source[Symbol.asyncDispose](),
  };
}

async function openAskedDrive(settings: Settings, clock: () => Date): Promise<Asked> {
  const { maxFileBytes, graph: place } = settings;
  const drive = await openDrive(settings, { memory: noMemory });
  const { graph, source } = drive;
  return {
    source,
    findPlaceholders: () => [],
    place: {
      kind: 'drive',
      name: place.drive === null ? null : drive.name,
      isReadyToken: place.credentials.kind === 'token',
      pace: settings,
      surveyDrive: (paths) =>
        surveyDrive({
          graph,
          readToken: () => readToken(graph.cloud, place),
          resolve: () => source.resolve(),
          clock,
          paths,
          maxFileBytes,
        }),
    },
    [Symbol.asyncDispose]: () => drive[Symbol.asyncDispose](),
  };
}

/** Below the patience of a survey, so that it is told why there is no token. */
const tokenMs = 15_000;

/** A token of its own, to be looked into: the one that requests go out with is given to nobody. */
async function readToken(cloud: GraphCloud, { credentials, authority }: Settings['graph']): Promise<string> {
  const { signal } = new AbortController();
  const habits = { ...usualHabits, tokenMs };
  return openTokens({ cloud, credentials, isAuthorityOwn: authority !== null, habits, signal }).read();
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
