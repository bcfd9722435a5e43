import { fork, type ChildProcess } from 'node:child_process';
import { cp, mkdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import type { Settings } from '../../config/settings.ts';
import { KnowledgeError } from '../core/errors.ts';
import { startEmbeddedPostgres } from '../store/embedded-postgres.ts';
import { projectRoot } from './environment.ts';
import { untilAskedToStop, type ChildMessage } from './lifetime.ts';
import { adminKeyPath, setUpDatabase } from './setup-database.ts';

/** Any number that no other program is likely to have chosen. */
const startLock = 4_104_118_202;

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
    AGENT_KNOWLEDGE_LOG_LEVEL: process.env['AGENT_KNOWLEDGE_LOG_LEVEL'] ?? 'warn',
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
    printBanner(settings, `${url ?? ''}/graphql`, madeKey !== null);
    for (const line of lines) printEvent(line);
    banner = true;
    const trouble = Promise.race([ended, api.failed, daemon.failed]);
    const reason = await Promise.race([stop, trouble.then(fail)]);
    console.log(`\nStopping (${reason}) …`);
  }
}

/** A part that ended by itself ends the whole, which must not look like a success. */
function fail(words: string): string {
  process.exitCode = 1;
  console.error(words);
  return words;
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

/** One `start` per data folder: the lock is a session of the database, so it ends with the process that holds it. */
async function takeStartLock(adminUrl: string, dataDir: string): Promise<AsyncDisposable> {
  const client = new Client({ connectionString: adminUrl });
  client.on('error', () => undefined); // The server's end is noticed by everybody who uses it.
  await client.connect();
  const { rows } = await client.query('select pg_try_advisory_lock($1) as taken', [startLock]);
  if (rows[0].taken !== true) {
    await client.end();
    throw new KnowledgeError(
      'CONFLICT',
      `Another "npm start" is running on ${dataDir}. Stop it first, or set AGENT_KNOWLEDGE_DATA_DIR.`,
    );
  }
  return { [Symbol.asyncDispose]: () => client.end().catch(() => undefined) };
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

/** As a shell takes it for one word, whatever it holds. */
function shellQuote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

function printEvent(text: string): void {
  console.log(`${new Date().toTimeString().slice(0, 8)}  ${text}`);
}

/** One of our own processes; closing it asks it to stop, and ends it when it does not. */
class Child implements AsyncDisposable {
  readonly ready: Promise<Extract<ChildMessage, { type: 'ready' }>>;
  /** Resolves, with words, when it ends. */
  readonly failed: Promise<string>;
  readonly #process: ChildProcess;

  static start(command: 'serve' | 'daemon', env: NodeJS.ProcessEnv, onLine?: (text: string) => void): Child {
    return new Child(command, env, onLine ?? (() => undefined));
  }

  private constructor(command: 'serve' | 'daemon', env: NodeJS.ProcessEnv, onLine: (text: string) => void) {
    // A session of its own: Ctrl-C reaches this process, which stops the others in order.
    this.#process = fork(fileURLToPath(new URL('agent-knowledge.mjs', import.meta.url)), [command], {
      env,
      execPath: process.execPath,
      detached: true,
    });
    const { promise, resolve, reject } = Promise.withResolvers<Extract<ChildMessage, { type: 'ready' }>>();
    this.ready = promise;
    this.ready.catch(() => undefined); // Who waits for it is told; nobody else needs to be.
    this.#process.on('message', (message) => {
      const told = message as ChildMessage;
      if (told.type === 'ready') resolve(told);
      else onLine(told.text);
    });
    this.failed = new Promise((ended) => {
      this.#process.on('exit', (code, signal) => {
        const words = `${command} ended with ${signal ?? `exit code ${code}`}`;
        reject(new KnowledgeError('UNAVAILABLE', `${words}; its own words stand above.`));
        ended(words);
      });
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    this.#process.kill('SIGTERM');
    const timer = setTimeout(() => this.#process.kill('SIGKILL'), 15_000);
    await this.failed;
    clearTimeout(timer);
  }
}
