import type { Settings } from '../../config/settings.ts';
import { KnowledgeError } from '../core/errors.ts';
import type { Caller } from '../core/permissions.ts';
import type { CallContext, Context } from '../operations/context.ts';
import { KnowledgeFeed } from '../operations/knowledge-feed.ts';
import { ensureActor } from '../store/actors.ts';
import { Database } from '../store/database.ts';
import { findClusterFolders, findEmbeddedPostgres } from '../store/embedded-postgres.ts';
import { EventListener } from '../store/event-listener.ts';
import { JobQueue } from '../store/job-queue.ts';
import { isMigrated } from '../store/migrate.ts';
import { findNoRoom, roomLimits, type RoomLimits } from '../store/room.ts';
import { operatorName } from './operator-name.ts';
import { policyOf } from './policy.ts';
import { findStart } from './start-mark.ts';

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
  throw new KnowledgeError('UNAVAILABLE', await whyNoDatabase(settings.dataDir));
}

/** Whoever has started everything must not be told to start it. */
async function whyNoDatabase(dataDir: string): Promise<string> {
  const start = await findStart(dataDir);
  return start === null
    ? `No database: AGENT_KNOWLEDGE_DATABASE_URL is not set and no embedded PostgreSQL runs for ${dataDir}. Run "npm start", or set the variable.`
    : `The database does not answer yet: "npm start" runs on ${dataDir} (process ${start}), and its PostgreSQL is not ready or is being started again. Try again in a moment; that terminal says how it goes.`;
}

const clock = () => new Date();

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
  const feed = stack.use(
    new KnowledgeFeed({ database, clock }, (hint) => EventListener.open(applicationUrl, hint)),
  );
  const opened = stack.move();
  return {
    database,
    queue,
    feed,
    policy: policyOf(settings),
    clock,
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

/** Rights without bounds, of somebody who has shown nothing that could end. */
const everything: Omit<Caller, 'actorId' | 'kind'> = {
  credential: null,
  scopes: new Set(['admin']),
  agents: null,
  environments: null,
};

/** The person at this machine's command line, by the operating system's word: may do everything, and is named in the audit log (T19). */
export async function asOperator<Given extends Pick<Context, 'database'>>(
  context: Given,
): Promise<Given & Pick<CallContext, 'caller'>> {
  const name = operatorName();
  const actorId = await context.database.transaction((queries) => ensureActor(queries, 'cli', name));
  return { ...context, caller: { actorId, kind: 'cli', ...everything } };
}

/** Whoever reaches a server without authentication, which listens on this machine only. */
export async function asLocal(context: Context): Promise<CallContext['caller']> {
  const actorId = await context.database.transaction((queries) => ensureActor(queries, 'local', 'local'));
  return { actorId, kind: 'local', ...everything };
}

async function assertMigrated(url: string): Promise<void> {
  if (await isMigrated(url)) return;
  throw new KnowledgeError(
    'UNAVAILABLE',
    'The database does not have this version\'s tables; run "npx agent-knowledge migrate".',
  );
}
