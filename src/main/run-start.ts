import { cp, mkdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Settings } from '../../config/settings.ts';
import { KnowledgeError } from '../core/errors.ts';
import { startEmbeddedPostgres } from '../store/embedded-postgres.ts';
import { projectRoot } from './environment.ts';
import { Child } from './child.ts';
import { untilAskedToStop } from './lifetime.ts';
import { adminKeyPath, setUpDatabase } from './setup-database.ts';
import { takeStartLock } from './start-lock.ts';

/**
 * `start`: everything on one machine. Starts or adopts the embedded PostgreSQL (or uses the database the settings name),
 * migrates, runs the API and the daemon as processes of their own, and stops all of it in order.
 */
export async function runStart(settings: Settings): Promise<void> {
  const stop = untilAskedToStop();
  await using stack = new AsyncDisposableStack();
  const { ended, ...urls } = await openDatabase(settings, stack);
  const madeKey = settings.migrate === 'auto' ? await setUpDatabase(settings, urls) : null;
  await offerSample(settings);
  const environment = {
    ...process.env,
    AGENT_KNOWLEDGE_DATABASE_URL: urls.applicationUrl,
    AGENT_KNOWLEDGE_MIGRATE: 'never',
    // A person reads this terminal: only what the settings ask for beyond the usual, and trouble.
    AGENT_KNOWLEDGE_LOG_LEVEL: settings.logLevel === 'info' ? 'warn' : settings.logLevel,
  };
  const api = stack.use(Child.start('serve', environment));
  const url = (await Promise.race([api.ready, asNever(stop)]))?.url;
  const lines: string[] = [];
  let banner = false;
  const daemon = stack.use(
    Child.start('daemon', environment, (text) => (banner ? printEvent(text) : lines.push(text))),
  );
  const started = await Promise.race([daemon.ready.then(() => true), stop.then(() => false)]);
  if (started) {
    if (settings.auth === 'required' && !(await exists(adminKeyPath(settings)))) printLostKey(settings);
    printBanner(settings, `${url ?? ''}/graphql`, madeKey !== null);
    for (const line of lines) printEvent(line);
    banner = true;
    const ending = await Promise.race([
      stop,
      Promise.race([ended, api.failed, daemon.failed]).then((words) => ({ words })),
    ]);
    // A part that ended by itself ends the whole, which must not look like a success.
    if (typeof ending !== 'string')
      throw new KnowledgeError('UNAVAILABLE', `${ending.words} Everything was stopped.`);
    console.log(`\nStopping (${ending}) …`);
  }
}

/** The signal as a race's loser: what waits for a child's readiness ends when the person has had enough. */
async function asNever(stop: Promise<string>): Promise<undefined> {
  await stop;
  return undefined;
}

async function openDatabase(
  settings: Settings,
  stack: AsyncDisposableStack,
): Promise<{ adminUrl: string; applicationUrl: string; ended: Promise<string> }> {
  if (settings.databaseUrl !== null) {
    return {
      ended: Promise.withResolvers<string>().promise, // Its end is nobody's here: the pools wait for it to come back.
      applicationUrl: settings.databaseUrl,
      adminUrl: settings.databaseAdminUrl ?? settings.databaseUrl,
    };
  }
  console.log('Starting PostgreSQL …');
  const embedded = await startEmbeddedPostgres({ dataDir: settings.dataDir }).catch((error: unknown) => {
    // Its words are for a person already; a stack trace would bury them.
    throw new KnowledgeError('UNAVAILABLE', error instanceof Error ? error.message : String(error), {
      cause: error,
    });
  });
  try {
    stack.use(await takeStartLock(embedded.adminUrl, settings.dataDir));
  } catch (error) {
    // Another start runs on it: what we have adopted is its server, which stays.
    if (!embedded.adopted) await embedded.stop();
    throw error;
  }
  stack.defer(() => embedded.stop());
  const { adminUrl, applicationUrl } = embedded;
  const log = join(settings.dataDir, 'postgres.log');
  const ended = embedded.exited.then(
    () => `PostgreSQL ended; ${log} may say why. "npm start" starts it again.`,
  );
  return { adminUrl, applicationUrl, ended };
}

/** Copies the sample folder where the knowledge folder does not exist, once and whole. */
async function offerSample(settings: Settings): Promise<void> {
  if (await exists(settings.localPath)) return;
  const beside = `${settings.localPath}.${process.pid}`;
  await mkdir(dirname(settings.localPath), { recursive: true });
  await rm(beside, { recursive: true, force: true });
  await cp(join(projectRoot, 'config/sample'), beside, { recursive: true });
  await rename(beside, settings.localPath);
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

function printBanner(settings: Settings, url: string, madeKey: boolean): void {
  const key = adminKeyPath(settings);
  const query =
    '{ activeVersion(agentKey: "intake_triage") { knowledgeVersion checksum files { relativePath sizeBytes } } }';
  const lines = [
    '',
    'agent-knowledge is running.',
    '',
    `  Knowledge folder   ${settings.localPath}`,
    `  Registry           ${settings.registryPath}`,
    `  GraphQL            ${url}`,
    ...(settings.auth === 'off'
      ? ['  Authentication     off (this machine only)']
      : [`  Admin key          ${key}${madeKey ? ' (made now)' : ''}`]),
    '',
    'Ask for the active version:',
    '',
    `  curl -s ${url} -H 'content-type: application/json'${settings.auth === 'off' ? '' : ` -H "authorization: Bearer $(cat ${shellQuote(key)})"`} -d ${shellQuote(JSON.stringify({ query }))}`,
    '',
    'Edit a file in the knowledge folder and save it: a new version is active two seconds later. Ctrl-C stops everything.',
    '',
  ];
  console.log(lines.join('\n'));
}

/** The database has a live admin key and this folder does not hold it. */
function printLostKey(settings: Settings): void {
  console.log(
    `\nThe admin key is not in ${adminKeyPath(settings)}. Make another one and put it there:\n  npx agent-knowledge keys create --name admin --scope admin`,
  );
}

/** As a shell takes it for one word, whatever it holds. */
function shellQuote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

function printEvent(text: string): void {
  console.log(`${new Date().toTimeString().slice(0, 8)}  ${text}`);
}
