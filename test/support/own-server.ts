import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../../src/store/embedded-postgres.ts';
import { migrate } from '../../src/store/migrate.ts';
import { readSuperuserUrl } from './test-server.ts';
import { runCommand, untilSaid, type RunningCommand } from './processes.ts';
import { registryOf } from './registry-documents.ts';

/** A PostgreSQL of a test's own, which it may kill, with a knowledge folder of one-file agents beside it. */
export interface OwnServer extends AsyncDisposable {
  readonly folder: string;
  /** The server as it was last started. */
  readonly postgres: EmbeddedPostgres;
  /** Starts it again where it has ended, on the same port. */
  startPostgres(): Promise<void>;
  /** Runs statements as the superuser. */
  asSuperuser<T>(work: (client: Client) => Promise<T>): Promise<T>;
  save(agent: string, text: string): Promise<void>;
  startApi(): Promise<{ readonly command: RunningCommand; readonly url: string }>;
  startDaemon(): Promise<RunningCommand>;
}

/** Makes all of it; the agents are in the registry, and their files say `first`. */
export async function startOwnServer(
  agents: readonly string[],
  settings: Readonly<Record<string, string>> = {},
): Promise<OwnServer> {
  const stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'ak-own-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  let postgres = await startEmbeddedPostgres({ dataDir: folder });
  stack.defer(() => postgres.stop());
  await migrate(postgres);
  const superuserUrl = `${await readSuperuserUrl(folder)}${new URL(postgres.adminUrl).pathname.slice(1)}`;
  await mkdir(join(folder, 'knowledge'));
  const save = (agent: string, text: string) =>
    writeFile(join(folder, 'knowledge', `${agent}.md`), `# ${agent}\n\n${text}\n`);
  for (const agent of agents) await save(agent, 'first');
  const registry = registryOf(Object.fromEntries(agents.map((agent) => [agent, [`${agent}.md`]])));
  await writeFile(join(folder, 'registry.json'), JSON.stringify(registry));
  const env = {
    AGENT_KNOWLEDGE_DATABASE_URL: postgres.applicationUrl,
    AGENT_KNOWLEDGE_MIGRATE: 'never',
    AGENT_KNOWLEDGE_DATA_DIR: folder,
    AGENT_KNOWLEDGE_REGISTRY_PATH: join(folder, 'registry.json'),
    AGENT_KNOWLEDGE_SETTLE: 'fast',
    AGENT_KNOWLEDGE_AUTH: 'off',
    AGENT_KNOWLEDGE_PORT: '0',
    ...settings,
  };
  const run = async (command: 'serve' | 'daemon', ready: RegExp) => {
    const running = stack.use(runCommand([command], { env }));
    await untilSaid(running, ready);
    return running;
  };
  return {
    folder,
    get postgres() {
      return postgres;
    },
    async startPostgres() {
      postgres = await startEmbeddedPostgres({ dataDir: folder });
    },
    async asSuperuser(work) {
      const client = new Client({ connectionString: superuserUrl });
      client.on('error', () => undefined); // The statement in flight rejects; killing the server is what tests do here.
      await client.connect();
      try {
        return await work(client);
      } finally {
        await client.end().catch(() => undefined);
      }
    },
    save,
    async startApi() {
      const command = await run('serve', /"url":"http/);
      return { command, url: `${/"url":"(http[^"]+)"/.exec(command.stderr())?.[1]}/graphql` };
    },
    startDaemon: () => run('daemon', /the daemon watches/),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
