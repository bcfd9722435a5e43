import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { Failpoints } from './plant-failpoint.ts';
import { runCommand, untilSaid, type RunningCommand } from './processes.ts';
import { registryOf } from './registry-documents.ts';

export interface ApiProcess {
  readonly command: RunningCommand;
  readonly failpoints: Failpoints;
  /** The server's address, without a path. */
  readonly base: string;
  ask(query: string, options?: AskOptions): Promise<Answer>;
}

export interface DaemonProcess {
  readonly command: RunningCommand;
  readonly failpoints: Failpoints;
  /** The name of its row while it lives. */
  readonly id: string;
}

interface AskOptions {
  readonly timeoutMs?: number;
}

export interface Answer {
  // Tests know what they asked for; what came back is checked by their expectations.
  readonly data: ReturnType<typeof JSON.parse>;
  readonly errors?: readonly { readonly message: string; readonly extensions: { readonly code: string } }[];
}

type Env = Readonly<Record<string, string>>;

/** Makes a daemon look only when a refresh is asked for. */
export const onlyWhenAsked: Env = {
  AGENT_KNOWLEDGE_WATCH_MODE: 'sweep',
  AGENT_KNOWLEDGE_SWEEP_MS: '600000',
  AGENT_KNOWLEDGE_RESYNC_SECONDS: '86400',
};

/** One folder and one database, on which any number of real daemons and APIs run; all of it goes at the end. */
export class Deployment implements AsyncDisposable {
  readonly folder: string;
  readonly database: TestDatabase;
  /** What every process of it is told by its environment. */
  readonly env: Env;
  readonly #stack: AsyncDisposableStack;
  #started = 0;

  private constructor(folder: string, database: TestDatabase, env: Env, stack: AsyncDisposableStack) {
    this.folder = folder;
    this.database = database;
    this.env = env;
    this.#stack = stack;
  }

  /** A registry of these agents, each with the files `<agent>/a.md` and `<agent>/b.md`, both saved. */
  static async open(agents: readonly string[], env: Env = {}): Promise<Deployment> {
    await using stack = new AsyncDisposableStack();
    const folder = await mkdtemp(join(tmpdir(), 'ak-deployment-'));
    stack.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 10 }));
    const database = stack.use(await createTestDatabase());
    const registry = join(folder, 'registry.json');
    await writeFile(
      registry,
      JSON.stringify(
        registryOf(Object.fromEntries(agents.map((agent) => [agent, [`${agent}/a.md`, `${agent}/b.md`]]))),
      ),
    );
    const own = {
      AGENT_KNOWLEDGE_DATABASE_URL: database.applicationUrl,
      AGENT_KNOWLEDGE_MIGRATE: 'never',
      AGENT_KNOWLEDGE_DATA_DIR: folder,
      AGENT_KNOWLEDGE_REGISTRY_PATH: registry,
      AGENT_KNOWLEDGE_SETTLE: 'fast',
      AGENT_KNOWLEDGE_AUTH: 'off',
      AGENT_KNOWLEDGE_PORT: '0',
    };
    const made = new Deployment(folder, database, { ...own, ...env }, stack.move());
    for (const agent of agents) await made.save(agent, 'first');
    return made;
  }

  async save(agent: string, text: string): Promise<void> {
    await mkdir(join(this.folder, 'knowledge', agent), { recursive: true });
    await writeFile(join(this.folder, 'knowledge', agent, 'b.md'), '# B\n\nAlways the same.\n');
    await writeFile(join(this.folder, 'knowledge', agent, 'a.md'), contentOf(agent, text));
  }

  async startApi(env: Env = {}): Promise<ApiProcess> {
    const failpoints = this.#failpoints();
    const command = this.#run('serve', { ...failpoints.env, ...env });
    const [, base = ''] = await untilSaid(command, /"url":"(http[^"]+)"/);
    return { command, failpoints, base, ask: (query, options) => ask(base, query, options) };
  }

  /** Resolves when it has looked at every package once. */
  async startDaemon(env: Env = {}): Promise<DaemonProcess> {
    const failpoints = this.#failpoints();
    const command = this.#run('daemon', { ...failpoints.env, ...env });
    await untilSaid(command, /the daemon watches/);
    const { rows } = await this.database.asSuperuser((client) =>
      client.query('select id from agent_knowledge.daemon where process_id = $1', [command.process.pid]),
    );
    return { command, failpoints, id: rows[0].id };
  }

  /** Lets the time pass after which a daemon that says nothing is taken for dead. */
  async letHeartbeatAge(daemon: DaemonProcess): Promise<void> {
    await this.database.asSuperuser((client) =>
      client.query(
        `update agent_knowledge.daemon set beat_at = beat_at - interval '15 seconds' where id = $1`,
        [daemon.id],
      ),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }

  #failpoints(): Failpoints {
    this.#started += 1;
    return new Failpoints(join(this.folder, `failpoint-${this.#started}`));
  }

  #run(command: 'serve' | 'daemon', env: Env): RunningCommand {
    return this.#stack.use(runCommand([command], { env: { ...this.env, ...env } }));
  }
}

/** What `save` writes. */
export function contentOf(agent: string, text: string): string {
  return `# ${agent}\n\n${text}\n`;
}

async function ask(base: string, query: string, { timeoutMs = 70_000 }: AskOptions = {}): Promise<Answer> {
  const response = await fetch(`${base}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query }),
    signal: AbortSignal.timeout(timeoutMs),
  });
  return (await response.json()) as Answer;
}
