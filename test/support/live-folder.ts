import { mkdir, mkdtemp, rename, rm, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../daemon/clock.ts';
import { Daemon } from '../../daemon/daemon.ts';
import { watchFolder, type WatchFolderOptions } from '../../daemon/watch-folder.ts';
import { settleTimes } from '../../src/core/settle-window.ts';
import { makeLooker } from '../../src/operations/looker.ts';
import { readPackage } from '../../src/operations/read-knowledge.ts';
import { openLocalSource } from '../../src/source/local-source.ts';
import { registryFileAt, statPrint } from '../../src/source/registry-file.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { recordingLogger, type LogLine } from './graphql.ts';

/** A daemon of this process on a real folder and database: one agent per name, each with the one file `k/<agent>.md`. */
export interface LiveFolder extends AsyncDisposable {
  readonly root: string;
  readonly database: TestDatabase;
  readonly log: readonly LogLine[];
  readonly file: (agent: string) => string;
  /** Every text that a version of this agent holds, the first version first. */
  texts(agent: string): Promise<string[]>;
  activeNumber(agent: string): Promise<number | null>;
}

/** Every net is off but those that a test asks for. */
export async function liveFolder(options: {
  readonly agents: readonly string[];
  readonly settle?: 'fast' | 'settled';
  readonly local: Omit<WatchFolderOptions, 'root' | 'statPrint' | 'sweepMs'> & {
    readonly sweepMs?: number;
  };
}): Promise<LiveFolder> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'ak-live-'));
  stack.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 10 }));
  const root = join(folder, 'knowledge');
  const file = (agent: string) => join(root, 'k', `${agent}.md`);
  await mkdir(join(root, 'k'), { recursive: true });
  for (const agent of options.agents) await writeFile(file(agent), wholeText('first'));
  const registryPath = join(folder, 'registry.json');
  await writeFile(registryPath, JSON.stringify(registryOf(options.agents)));
  const database = stack.use(await createTestDatabase());
  const context = database.context();
  const looker = await makeLooker(context, { id: crypto.randomUUID(), kind: 'daemon', name: 'daemon' });
  const logger = recordingLogger();
  stack.use(
    await Daemon.start({
      context,
      looker,
      identity: { host: 'test', processId: process.pid },
      source: stack.use(openLocalSource({ root })),
      logger,
      clock: systemClock,
      watchEnvironments: ['production'],
      settleTimes: () => settleTimes[options.settle ?? 'fast'],
      resyncSeconds: 3600,
      registry: registryFileAt(registryPath),
      watched: watchFolder({ sweepMs: 3_600_000, ...options.local, root, statPrint }),
      onLook: () => undefined,
    }),
  );
  const opened = stack.move();
  return {
    root,
    database,
    file,
    log: logger.lines,
    texts: (agent) => readTexts(database, agent),
    activeNumber: async (agent) => (await readPackage(context, agent)).activeNumber,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/** A text that shows whether it is whole. */
export function wholeText(what: string): string {
  return `# Knowledge\n\n${what}\n\nThe end.\n`;
}

export function isWhole(text: string): boolean {
  return text.endsWith('\n\nThe end.\n');
}

/** The ways in which programs save a file. */
export const saveStyles = {
  'in place': (path: string, text: string) => writeFile(path, text),
  'renamed over': async (path: string, text: string) => {
    await writeFile(`${path}.tmp`, text);
    await rename(`${path}.tmp`, path);
  },
  'as vim does': async (path: string, text: string) => {
    await rename(path, `${path}~`);
    await writeFile(path, text);
    await unlink(`${path}~`);
  },
  'deleted and made again': async (path: string, text: string) => {
    await unlink(path);
    await writeFile(path, text);
  },
} as const;

function registryOf(agents: readonly string[]) {
  const entry = (agent: string) => ({
    enabled: true,
    agent_code: 'A',
    stage: 's',
    package_version: 'v01',
    files: [{ relative_path: `k/${agent}.md`, load_order: 1, required: true }],
  });
  return {
    registry_version: '1',
    agents: Object.fromEntries(agents.map((agent) => [agent, entry(agent)])),
  };
}

async function readTexts(database: TestDatabase, agent: string): Promise<string[]> {
  return database.asSuperuser(async (client) => {
    const { rows } = await client.query<{ text: string }>(
      `select convert_from(b.content, 'UTF8') as text
         from agent_knowledge.package_version v
         join agent_knowledge.version_file f on f.version_id = v.id
         join agent_knowledge.blob b on b.checksum = f.checksum
        where v.agent_key = $1
        order by v.number`,
      [agent],
    );
    return rows.map((row) => row.text);
  });
}
