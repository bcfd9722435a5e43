import type { Settings } from '../../config/settings.ts';
import type { Style } from '../cli/output/colour.ts';
import { KnowledgeError } from '../core/errors.ts';
import { Database } from '../store/database.ts';
import { checkAdminKey } from './check-admin-key.ts';
import { startPostgresPart, supervisePostgres, type PostgresPart } from './embedded-part.ts';
import { endedAtOnce, untilAskedToStop } from './lifetime.ts';
import { isStructured } from './plain-log.ts';
import { readEnabledAgent } from './read-enabled-agent.ts';
import { policyOf } from './policy.ts';
import { makeSignInLink } from './make-sign-in-link.ts';
import { offerSample } from './sample.ts';
import { asOperator, openContext } from './runtime.ts';
import { Screen } from './screen.ts';
import type { ScreenLine } from './screen-line.ts';
import { reachedUrl } from './public-url.ts';
import { setUpDatabase, type MadeKey } from './setup-database.ts';
import { takeStartLock } from './start-lock.ts';
import { markStart } from './start-mark.ts';
import { superviseChild } from './supervised-child.ts';
import { tellChanges } from './tell-changes.ts';

/**
 * `start`: everything on one machine. Starts or adopts the embedded PostgreSQL (or uses the database the settings name),
 * migrates, runs the API and the daemon as processes of their own, starts again what ends by itself, and stops all of it
 * in order.
 */
export async function runStart(settings: Settings): Promise<void> {
  const stop = untilAskedToStop();
  const stopping = new AbortController();
  void stop.then(() => stopping.abort());
  const screen = new Screen(settings);
  await using stack = new AsyncDisposableStack();
  stack.defer(() => screen.flush());
  const database = await openDatabase(settings, screen, stack);
  screen.step('Preparing the database');
  const madeKey = settings.migrate === 'auto' ? await setUpDatabase(settings, database) : null;
  if (settings.source === 'local' && (await offerSample(settings, database.applicationUrl)))
    screen.print(`The sample was copied to ${settings.localPath}.`);
  const context = stack.use(await openContext(settings, database.applicationUrl));
  // Before anything can change: what API, daemon and other command lines do is told here.
  stack.use(await tellChanges(await asOperator(context), (line) => screen.tell(line)));
  screen.step('Starting the API and the daemon');
  const parts = await startParts(settings, { screen, stack, database, signal: stopping.signal });
  if (parts !== null) {
    await database.addUrl(reachedUrl(settings, parts.url));
    await welcome(settings, screen, { database, madeKey, url: parts.url });
    const ending = await Promise.race([
      stop,
      Promise.race([database.lost, ...parts.gaveUp]).then((words) => ({ words })),
    ]);
    // What nobody asked for must not look like a success.
    if (typeof ending !== 'string')
      throw new KnowledgeError('UNAVAILABLE', `${ending.words} Everything else was stopped.`);
    screen.print(`\nStopping (${ending}) …`);
  }
}

/** The database that `start` runs on. */
interface StartDatabase {
  readonly adminUrl: string;
  readonly applicationUrl: string;
  /** Resolves when it runs. One that is not ours is taken to run: the pools wait for it. */
  readonly up: () => Promise<void>;
  readonly isUp: () => boolean;
  /** Resolves, with a sentence, when it is another `start`'s now; never otherwise. */
  readonly lost: Promise<string>;
  /** Lets other commands on the same database know where the API is. */
  readonly addUrl: (url: string) => Promise<void>;
}

/** The API, then the daemon; null where the person has had enough before both work. */
async function startParts(
  settings: Settings,
  {
    screen,
    stack,
    database,
    signal,
  }: {
    readonly screen: Screen;
    readonly stack: AsyncDisposableStack;
    readonly database: StartDatabase;
    readonly signal: AbortSignal;
  },
): Promise<{ readonly url: string; readonly gaveUp: readonly Promise<string>[] } | null> {
  const common = {
    env: {
      ...process.env,
      AGENT_KNOWLEDGE_DATABASE_URL: database.applicationUrl,
      AGENT_KNOWLEDGE_MIGRATE: 'never',
      // A person reads this terminal: only what the settings ask for beyond the usual, and trouble.
      AGENT_KNOWLEDGE_LOG_LEVEL: settings.logLevel === 'info' ? 'warn' : settings.logLevel,
    },
    onLine: (line: ScreenLine) => screen.tell(line),
    // That PostgreSQL is away has been told in one line; what each part says of it would be one every few seconds.
    // Nor is it news, when everything is stopped, that a part could not say goodbye to it.
    onLog: (line: string) => {
      if (database.isUp() || !(isStructured(line) || signal.aborted)) screen.log(line);
    },
    tell: (text: string) => screen.tell({ text, tone: toneOfPart(text) }),
    mayStart: database.up,
  };
  try {
    const api = await superviseChild({ ...common, command: 'serve' }, signal);
    stack.use(api.supervisor);
    const daemon = await superviseChild({ ...common, command: 'daemon' }, signal);
    stack.use(daemon.supervisor);
    return { url: api.ready.url ?? '', gaveUp: [api.supervisor.gaveUp, daemon.supervisor.gaveUp] };
  } catch (error) {
    if (signal.aborted) return null;
    throw error;
  }
}

/** The banner, with what the database says: whether the key in the data folder is its, and which agent to ask for. */
async function welcome(
  settings: Settings,
  screen: Screen,
  start: { readonly database: StartDatabase; readonly madeKey: MadeKey | null; readonly url: string },
): Promise<void> {
  const { url, madeKey } = start;
  await using database = await Database.open({ url: start.database.applicationUrl, maxConnections: 1 });
  const context = { database, policy: policyOf(settings), clock: () => new Date() };
  const trouble = settings.auth === 'required' ? await checkAdminKey(settings, context) : null;
  const agentKey = await readEnabledAgent(context);
  const signInUrl = settings.auth === 'required' ? await makeSignInLink(settings, context, start.url) : null;
  if (trouble !== null) screen.showLostKey(trouble);
  screen.showBanner({ url: `${url}/graphql`, signInUrl, madeKey, keyWorks: trouble === null, agentKey });
}

async function openDatabase(
  settings: Settings,
  screen: Screen,
  stack: AsyncDisposableStack,
): Promise<StartDatabase> {
  if (settings.databaseUrl !== null) {
    return {
      applicationUrl: settings.databaseUrl,
      adminUrl: settings.databaseAdminUrl ?? settings.databaseUrl,
      up: async () => undefined,
      isUp: () => true,
      lost: Promise.withResolvers<string>().promise,
      addUrl: async () => undefined, // Nothing of it lies in a data folder.
    };
  }
  screen.step('Starting PostgreSQL');
  const { dataDir } = settings;
  const mark = stack.use(await markStart(dataDir));
  const first = await startPostgresPart(dataDir);
  const { adminUrl, applicationUrl, adopted } = first.server;
  try {
    const lock = stack.use(await takeStartLock(adminUrl, dataDir));
    const postgres = supervisePostgres(first, dataDir, (text) =>
      screen.tell({ text, tone: toneOfPart(text) }),
    );
    stack.use(postgres);
    void lock.lost.then(() => postgres.letGo());
    process.once('exit', (code) => leaveNothing(code, postgres.part));
    const state = {
      up: () => postgres.up,
      isUp: () => postgres.isUp,
      addUrl: (url: string) => mark.addUrl(url),
    };
    return { adminUrl, applicationUrl, ...state, lost: lock.lost };
  } catch (error) {
    // Another start runs on it: what we have adopted is its server, which stays.
    if (!adopted) await first[Symbol.asyncDispose]();
    throw error;
  }
}

/** A part that is back is well; every other word of a supervisor's is of trouble. */
function toneOfPart(text: string): Style {
  return text.endsWith(' is back.') ? 'good' : 'bad';
}

/** A second Ctrl-C ends this process at once, with nobody left to stop its database in peace. */
function leaveNothing(code: number, postgres: PostgresPart | null): void {
  if (code !== endedAtOnce || postgres === null) return;
  try {
    process.kill(postgres.server.pid, 'SIGQUIT');
  } catch {
    // It has ended already.
  }
}
