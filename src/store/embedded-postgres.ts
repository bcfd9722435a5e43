import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { KnowledgeError, messageOf } from '../core/errors.ts';
import { locateBinaries, type Binaries } from './embedded-postgres/binaries.ts';
import { settleClusterPlace, type ClusterPlace } from './embedded-postgres/cluster-place.ts';
import { createCluster, readCluster } from './embedded-postgres/cluster.ts';
import {
  connectionFile,
  readConnectionRecord,
  urlOf,
  type ConnectionRecord,
  type Credentials,
} from './embedded-postgres/credentials.ts';
import { fileOwnerIn } from './embedded-postgres/data-folder.ts';
import { askIdentity } from './embedded-postgres/identity.ts';
import { codeOf, inWords } from './embedded-postgres/plain-words.ts';
import { writePrivateFile } from './embedded-postgres/private-file.ts';
import { adoptOrLaunch, type RunningServer } from './embedded-postgres/running-server.ts';
import type { ServerExit } from './embedded-postgres/server-process.ts';
import { takeStartLock } from './embedded-postgres/start-lock.ts';
import { stopServer } from './embedded-postgres/stop-server.ts';

/** A running PostgreSQL of this product's own. Disposing of it stops it, as `stop` does. */
export interface EmbeddedPostgres extends AsyncDisposable {
  /** As the role that owns the database and migrates. Holds a password, as the next one does. */
  readonly adminUrl: string;
  /** As the role that owns nothing. */
  readonly applicationUrl: string;
  /** True where it ran already, left behind by a process that was killed. */
  readonly adopted: boolean;
  /** True where this call created the database: it is empty. */
  readonly firstStart: boolean;
  readonly pid: number;
  /** Resolves when the server has ended, whoever ended it; never rejects. Does not keep the process alive. */
  readonly exited: Promise<ServerExit>;
  /**
   * Fast shutdown (sessions are ended, work is written out), after 15 s an immediate one; resolves when it has ended.
   * Removes nothing. May be called again.
   */
  stop(): Promise<void>;
}

/** The two connection strings of a server: each holds a password. */
export interface EmbeddedPostgresUrls {
  readonly adminUrl: string;
  readonly applicationUrl: string;
}

const host = '127.0.0.1';
const startLockLimitMs = 180_000;

/**
 * Starts the real PostgreSQL server of a data folder, or adopts the one that runs there, and resolves when it takes
 * connections (R8, T7, T30, T48, T53). The first start in a folder creates the database.
 *
 * `dataDir` is the product's data folder, absolute, made where it is missing. `onLine` hears what happens, a sentence
 * at a time, never a secret. The server listens on 127.0.0.1 alone, with SCRAM, and outlives this process unless
 * stopped. Calls for one folder, from any number of processes, wait for each other and share one server. `port`: the
 * one it must listen on, since somebody holds its address; without it the last one is taken where it is free. Throws an
 * `Error` that says what was expected, what was found and where.
 */
export async function startEmbeddedPostgres(options: {
  dataDir: string;
  port?: number;
  onLine?: (line: string) => void;
}): Promise<EmbeddedPostgres> {
  const onLine = options.onLine ?? (() => undefined);
  const place = await settleClusterPlace(path.resolve(options.dataDir));
  const owner = fileOwnerIn(place.dataFolder);
  using _lock = await takeStartLock(lockFileOf(place), owner, startLockLimitMs);
  const binaries = await locateBinaries(place);
  const record = await readConnectionRecord(place.dataFolder.path);
  const mayCreate = options.port === undefined;
  const { credentials, firstStart } = await openCluster({ place, binaries, record, mayCreate, onLine });
  const [preferredPort, requiredPort] = [record?.port ?? null, options.port ?? null];
  const server = await adoptOrLaunch({ place, binaries, credentials, preferredPort, requiredPort });
  onLine(
    `PostgreSQL ${binaries.version} ${server.adopted ? 'was running already' : 'is running'} on ${host}:${server.port}, process ${server.pid}.`,
  );
  const { port } = server;
  await keepConnectionRecord(place, record, { ...credentials, host, port, clusterDir: place.clusterDir });
  return handleOn(server, { place, binaries, credentials, firstStart });
}

/**
 * The connection strings of the server of a data folder, for commands that use one and start none; null where none was
 * ever started, none runs, or what answers on its port is not it.
 *
 * Throws `KnowledgeError` `UNAVAILABLE` where the folder's `postgres.json` is unreadable, as for another user of the
 * machine than the one who started the server.
 */
export async function findEmbeddedPostgres(dataDir: string): Promise<EmbeddedPostgresUrls | null> {
  const record = await readConnectionRecord(path.resolve(dataDir)).catch((error: unknown) => {
    throw unreadableRecord(error);
  });
  return record !== null && (await answersAs(record)) ? urlsOf(record, record.port) : null;
}

/**
 * The folders of the embedded server of a data folder whose volumes it writes to, where this is the address of its
 * application role; null where the address is another database's.
 */
export async function findClusterFolders(
  dataDir: string,
  applicationUrl: string,
): Promise<{ readonly data: string; readonly writeAheadLog: string } | null> {
  // A record that cannot be read is none for us: whoever knows the address of another database needs no record.
  const record = await readConnectionRecord(path.resolve(dataDir)).catch(() => null);
  if (record === null || urlsOf(record, record.port).applicationUrl !== applicationUrl) return null;
  return { data: record.clusterDir, writeAheadLog: path.join(record.clusterDir, 'pg_wal') };
}

/** Its words are for a person already; whoever may not read it is told who may. */
function unreadableRecord(error: unknown): KnowledgeError {
  const message = messageOf(error);
  const mayNot = error instanceof Error && codeOf(error.cause) === 'EACCES';
  const advice = mayNot
    ? '. Run this as the user who runs "npm start", or set AGENT_KNOWLEDGE_DATABASE_URL.'
    : '';
  return new KnowledgeError('UNAVAILABLE', `${message}${advice}`, { cause: error });
}

async function answersAs(record: ConnectionRecord): Promise<boolean> {
  try {
    const { systemIdentifier } = await askIdentity(record, 'login', record.port);
    return systemIdentifier === record.systemIdentifier;
  } catch {
    return false; // Nobody there, or somebody who does not know our password.
  }
}

async function openCluster({
  place,
  binaries,
  record,
  mayCreate,
  onLine,
}: {
  place: ClusterPlace;
  binaries: Binaries;
  record: ConnectionRecord | null;
  mayCreate: boolean;
  onLine: (line: string) => void;
}): Promise<{ credentials: Credentials; firstStart: boolean }> {
  const existing = await readCluster(place, binaries);
  requireRecorded(record, existing, place);
  if (existing !== null) {
    return { credentials: existing, firstStart: false };
  }
  if (!mayCreate) {
    throw new Error(
      `expected the database that ran in ${place.clusterDir}, found none. Bring it back, such as a disk that is not mounted; nothing is put in its place`,
    );
  }
  onLine(`Creating the database in ${place.clusterDir}${place.user ? ` as user ${place.user.name}` : ''}.`);
  return { credentials: await createCluster(place, binaries), firstStart: true };
}

/** A database that is missing or another one than last time is trouble, never a reason to begin with an empty one. */
function requireRecorded(
  record: ConnectionRecord | null,
  existing: Credentials | null,
  place: ClusterPlace,
): void {
  if (record === null || record.systemIdentifier === existing?.systemIdentifier) {
    return;
  }
  const found = existing === null ? 'none' : `system identifier ${existing.systemIdentifier}`;
  throw new Error(
    `${connectionFile(place.dataFolder.path)} expects the database with system identifier ${record.systemIdentifier} (last in ${record.clusterDir}), found ${found} in ${place.clusterDir}. Bring it back; or, if this is meant, remove postgres.json and start again.`,
  );
}

/** Written only where it says something new: a full disk must not keep us from a server that runs. */
async function keepConnectionRecord(
  place: ClusterPlace,
  known: ConnectionRecord | null,
  record: ConnectionRecord,
): Promise<void> {
  if (isDeepStrictEqual(known, record)) {
    return;
  }
  const file = connectionFile(place.dataFolder.path);
  await inWords(`${file} could not be written`, () =>
    writePrivateFile(file, `${JSON.stringify(record, null, 2)}\n`, fileOwnerIn(place.dataFolder)),
  );
}

function handleOn(
  server: RunningServer,
  started: { place: ClusterPlace; binaries: Binaries; credentials: Credentials; firstStart: boolean },
): EmbeddedPostgres {
  const { place, binaries, credentials, firstStart } = started;
  const stop = async (): Promise<void> => {
    await stopServer(server.pid, place.clusterDir, binaries);
    await server.waitForExit();
  };
  return {
    ...urlsOf(credentials, server.port),
    adopted: server.adopted,
    firstStart,
    pid: server.pid,
    exited: server.exited,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

function urlsOf(credentials: Credentials, port: number): EmbeddedPostgresUrls {
  return {
    adminUrl: urlOf(credentials, 'admin', port),
    applicationUrl: urlOf(credentials, 'login', port),
  };
}

function lockFileOf(place: ClusterPlace): string {
  return path.join(place.dataFolder.path, 'postgres.lock');
}
