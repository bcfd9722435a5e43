import { userInfo } from 'node:os';
import type { Settings } from '../../config/settings.ts';
import { KnowledgeError } from '../core/errors.ts';
import type { CallContext, Context } from '../operations/context.ts';
import { ensureActor } from '../store/actors.ts';
import { Database } from '../store/database.ts';
import { findClusterFolders, findEmbeddedPostgres } from '../store/embedded-postgres.ts';
import { JobQueue } from '../store/job-queue.ts';
import { isMigrated } from '../store/migrate.ts';
import { findNoRoom, roomLimits, type RoomLimits } from '../store/room.ts';
import { policyOf } from './policy.ts';

/** The database the settings name, or the embedded one that runs in the data folder. */
export async function findDatabase(
  settings: Settings,
): Promise<{ readonly applicationUrl: string; readonly adminUrl: string }> {
  if (settings.databaseUrl !== null) {
    return {
      applicationUrl: settings.databaseUrl,
      adminUrl: settings.databaseAdminUrl ?? settings.databaseUrl,
    };
  }
  const embedded = await findEmbeddedPostgres(settings.dataDir);
  if (embedded) return embedded;
  throw new KnowledgeError(
    'UNAVAILABLE',
    `No database: AGENT_KNOWLEDGE_DATABASE_URL is not set and no embedded PostgreSQL runs for ${settings.dataDir}. Run "npm start", or set the variable.`,
  );
}

/**
 * Opens what every operation stands on; closing it leaves no connection. `limits`: how much room captures need on the
 * disk of an embedded database.
 */
export async function openContext(
  settings: Settings,
  applicationUrl: string,
  limits: RoomLimits = roomLimits,
): Promise<Context & AsyncDisposable> {
  await assertMigrated(applicationUrl);
  await using stack = new AsyncDisposableStack();
  const database = stack.use(await Database.open({ url: applicationUrl }));
  const queue = stack.use(await JobQueue.open(applicationUrl));
  const opened = stack.move();
  return {
    database,
    queue,
    policy: policyOf(settings),
    clock: () => new Date(),
    room: await askForRoom(settings, applicationUrl, limits),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/** An external database's disks are its administrator's: it says itself when they are full. */
async function askForRoom(
  settings: Settings,
  applicationUrl: string,
  limits: RoomLimits,
): Promise<Context['room']> {
  const folders = await findClusterFolders(settings.dataDir, applicationUrl);
  if (folders === null) return async () => null;
  const places = [
    { folder: folders.data, name: 'the database' },
    { folder: folders.writeAheadLog, name: "the database's write-ahead log" },
  ];
  return () => findNoRoom(places, limits);
}

/** The person at this machine's command line, by the operating system's word: may do everything, and is named in the audit log (T19). */
export async function asOperator(context: Context): Promise<CallContext> {
  const name = operatorName();
  const actorId = await context.database.transaction((queries) => ensureActor(queries, 'cli', name));
  return {
    ...context,
    caller: { actorId, kind: 'cli', scopes: new Set(['admin']), agents: null, environments: null },
  };
}

/** Whoever reaches a server without authentication, which listens on this machine only. */
export async function asLocal(context: Context): Promise<CallContext['caller']> {
  const actorId = await context.database.transaction((queries) => ensureActor(queries, 'local', 'local'));
  return { actorId, kind: 'local', scopes: new Set(['admin']), agents: null, environments: null };
}

function operatorName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`; // A user without an entry in the user database has no name.
  }
}

async function assertMigrated(url: string): Promise<void> {
  if (await isMigrated(url)) return;
  throw new KnowledgeError(
    'UNAVAILABLE',
    'The database does not have this version\'s tables; run "npx agent-knowledge migrate".',
  );
}
