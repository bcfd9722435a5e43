import { chmod, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Client } from 'pg';
import { loadSettings } from '../../../config/settings.ts';
import { projectRoot } from '../../../src/main/environment.ts';
import { newKeyMaterial } from '../../../src/main/key-material.ts';
import { asOperator, openContext } from '../../../src/main/runtime.ts';
import { setUpDatabase } from '../../../src/main/setup-database.ts';
import { createKey } from '../../../src/operations/manage-keys.ts';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../../../src/store/embedded-postgres.ts';
import { findFreePort } from '../../../src/store/embedded-postgres/free-port.ts';
import { withClient } from '../database.ts';
import { eventually, hasEnded, runCommand, untilSaid, type RunningCommand } from '../processes.ts';
import { registryOf } from '../registry-documents.ts';
import { databaseUrl, readSuperuserUrl } from '../test-server.ts';
import { killBackend, killServer, processesOf, untilGone } from './server-processes.ts';

/** What a drill can kill with -9 (F1, F4, F16…F18): everything of the database, one backend, its postmaster alone, and so on. */
export const victims = ['database', 'backend', 'postmaster', 'api', 'daemon', 'all'] as const;
export type Victim = (typeof victims)[number];

export interface CrashStageOptions {
  readonly agents: readonly string[];
  /** The files of each agent, below its own folder. */
  readonly files: readonly string[];
  /** The clients that get a key of their own. */
  readonly clients: readonly string[];
  /** Statements that the superuser makes before anybody else connects. */
  readonly prepare?: readonly string[];
  /** What API and daemon are told beyond what they need. */
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * A PostgreSQL of its own and real `serve` and `daemon` processes on it, each killed and started again alone: nobody else
 * watches over them. All of it goes at the end.
 */
export class CrashStage implements AsyncDisposable {
  readonly folder: string;
  readonly keys = new Map<string, string>();
  readonly #stack: AsyncDisposableStack;
  #postgres: EmbeddedPostgres;
  #postgresIsDead = false;
  #env: Readonly<Record<string, string>> = {};
  #port = 0;
  #saves = 0;
  #api: RunningCommand | null = null;
  #daemon: RunningCommand | null = null;

  private constructor(folder: string, postgres: EmbeddedPostgres, stack: AsyncDisposableStack) {
    this.folder = folder;
    this.#postgres = postgres;
    this.#stack = stack;
  }

  static async open(options: CrashStageOptions): Promise<CrashStage> {
    await using stack = new AsyncDisposableStack();
    const folder = await mkdtemp(join(tmpdir(), 'ak-crash-'));
    await chmod(folder, 0o755);
    stack.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 10 }));
    const postgres = await startEmbeddedPostgres({ dataDir: folder });
    const stage = new CrashStage(folder, postgres, stack.move());
    try {
      await stage.#prepare(options);
      await stage.revive();
      return stage;
    } catch (error) {
      await stage[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** The API's address, without a path; the same for every API of this stage. */
  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  get applicationUrl(): string {
    return this.#postgres.applicationUrl;
  }

  /** Saves a file of an agent as a whole: no reader ever finds half of it. */
  async save(relativePath: string, text: string): Promise<void> {
    const target = join(this.folder, 'knowledge', relativePath);
    this.#saves += 1;
    const beside = join(this.folder, 'saving', String(this.#saves));
    await mkdir(dirname(target), { recursive: true });
    await writeFile(beside, text);
    await rename(beside, target);
  }

  async asSuperuser<T>(work: (client: Client) => Promise<T>): Promise<T> {
    const database = new URL(this.#postgres.adminUrl).pathname.slice(1);
    return withClient(databaseUrl(await readSuperuserUrl(this.folder), database), work);
  }

  /** Kills with -9; resolves when what was killed is gone. */
  async kill(victim: Victim): Promise<void> {
    if (victim === 'backend') {
      const pid = killBackend(this.#postgres.pid);
      await eventually(
        async () => processesOf(this.#postgres.pid).some((child) => child.pid === pid),
        (there) => !there,
        20_000,
        5,
      );
    }
    const whole = victim === 'all';
    if (whole || victim === 'database') killServer(this.#postgres.pid);
    if (victim === 'postmaster') process.kill(this.#postgres.pid, 'SIGKILL');
    if (whole || victim === 'database' || victim === 'postmaster') {
      await untilGone(this.#postgres.pid);
      this.#postgresIsDead = true;
    }
    await Promise.all([
      whole || victim === 'api' ? this.#killCommand('api') : null,
      whole || victim === 'daemon' ? this.#killCommand('daemon') : null,
    ]);
  }

  /** Starts again what was killed, and resolves when the API is ready and the daemon watches. */
  async revive(): Promise<void> {
    await this.revivePostgres();
    await Promise.all([this.#reviveApi(), this.#reviveDaemon()]);
    await this.untilReady();
  }

  /** The database alone. */
  async revivePostgres(): Promise<void> {
    if (!this.#postgresIsDead) return;
    const { applicationUrl } = this.#postgres;
    this.#postgres = await startEmbeddedPostgres({ dataDir: this.folder });
    this.#postgresIsDead = false;
    if (this.#postgres.applicationUrl === applicationUrl) return;
    throw new Error(
      'Expected PostgreSQL to come back on its own port; it has another one, which nobody knows.',
    );
  }

  async untilReady(): Promise<void> {
    await eventually(
      async () => (await fetch(`${this.url}/readyz`, { signal: AbortSignal.timeout(10_000) })).status,
      (status) => status === 200,
      60_000,
      10,
    );
  }

  /** What the processes have written, where one of them has ended that nobody killed; else nothing. */
  unexpectedEnds(): string[] {
    return [this.#api, this.#daemon].flatMap((command) =>
      command && hasEnded(command)
        ? [`${command.process.spawnargs.at(-1)} has ended by itself:\n${command.stderr()}`]
        : [],
    );
  }

  /** What API and daemon have logged since they were last started. */
  get logs(): string {
    return `${this.#api?.stderr() ?? ''}${this.#daemon?.stderr() ?? ''}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#killCommand('api'), this.#killCommand('daemon')]);
    if (!this.#postgresIsDead) await this.#postgres.stop();
    await this.#stack.disposeAsync();
  }

  async #prepare({ agents, files, clients, prepare = [], env = {} }: CrashStageOptions): Promise<void> {
    this.#env = env;
    await mkdir(join(this.folder, 'saving'));
    for (const agent of agents) {
      for (const file of files) await this.save(`${agent}/${file}`, `# ${agent} ${file}\n\nfirst\n`);
    }
    const filesOf = Object.fromEntries(
      agents.map((agent) => [agent, files.map((file) => `${agent}/${file}`)]),
    );
    await writeFile(join(this.folder, 'registry.json'), JSON.stringify(registryOf(filesOf)));
    const settings = loadSettings({ AGENT_KNOWLEDGE_DATA_DIR: this.folder }, projectRoot);
    await setUpDatabase(settings, this.#postgres);
    await using context = await openContext(settings, this.applicationUrl);
    const operator = await asOperator(context);
    for (const name of clients) {
      const request = { name, scopes: ['admin'], agents: null, environments: null, expiresAt: null };
      this.keys.set(name, (await createKey(operator, request, newKeyMaterial())).key);
    }
    for (const statement of prepare) await this.asSuperuser((client) => client.query(statement));
    this.#port = await findFreePort(null);
  }

  async #reviveApi(): Promise<void> {
    this.#api ??= this.run('serve');
    await untilSaid(this.#api, /the API listens/);
  }

  async #reviveDaemon(): Promise<void> {
    this.#daemon ??= this.run('daemon');
    await untilSaid(this.#daemon, /the daemon watches/);
  }

  /** Runs one more API or daemon beside the stage's own, which is its caller's to end; `env` is laid over what it is told. */
  run(command: 'serve' | 'daemon', env: Readonly<Record<string, string>> = {}): RunningCommand {
    return runCommand([command], {
      env: {
        AGENT_KNOWLEDGE_DATABASE_URL: this.applicationUrl,
        AGENT_KNOWLEDGE_MIGRATE: 'never',
        AGENT_KNOWLEDGE_DATA_DIR: this.folder,
        AGENT_KNOWLEDGE_REGISTRY_PATH: join(this.folder, 'registry.json'),
        AGENT_KNOWLEDGE_SETTLE: 'fast',
        AGENT_KNOWLEDGE_PORT: String(this.#port),
        ...this.#env,
        ...env,
      },
    });
  }

  async #killCommand(which: 'api' | 'daemon'): Promise<void> {
    const command = which === 'api' ? this.#api : this.#daemon;
    await command?.end('SIGKILL');
    if (which === 'api') this.#api = null;
    else this.#daemon = null;
  }
}
