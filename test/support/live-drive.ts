import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { systemClock } from '../../daemon/clock.ts';
import { Daemon } from '../../daemon/daemon.ts';
import { watchDrive } from '../../daemon/watch-drive.ts';
import { settleTimes } from '../../src/core/settle-window.ts';
import { openDriveMemory } from '../../src/operations/drive-memory.ts';
import { makeLooker } from '../../src/operations/looker.ts';
import { readPackage, readStatuses } from '../../src/operations/read-knowledge.ts';
import { openGraph } from '../../src/source/graph/graph-client.ts';
import type { GraphHabits } from '../../src/source/graph/graph-habits.ts';
import { openGraphSource } from '../../src/source/graph/graph-source.ts';
import { registryFileAt, statPrint } from '../../src/source/registry-file.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { startFakeGraph, type FakeGraph } from './fake-graph/fake-graph.ts';
import { recordingLogger, type LogLine } from './graphql.ts';
import { registryOf } from './registry-documents.ts';

/** A daemon of this process on the stand-in for Microsoft Graph over a real folder, and a real database. */
export interface LiveDrive extends AsyncDisposable {
  readonly fake: FakeGraph;
  readonly database: TestDatabase;
  readonly log: readonly LogLine[];
  /** The file on disk that a path in the drive stands for. */
  file(path: string): string;
  save(path: string, text: string): Promise<void>;
  package(agent: string): ReturnType<typeof readPackage>;
  /** How the last look at an agent ended. */
  status(agent: string): Promise<{
    readonly outcome: string | null;
    readonly reason: string | null;
    readonly message: string | null;
  }>;
  /** Starts another daemon, with a source that knows only what the database remembers. */
  startDaemon(): Promise<AsyncDisposable>;
}

export interface LiveDriveOptions {
  /** The files that each agent requires; each is there, with a text of its own. */
  readonly agents: Readonly<Record<string, readonly string[]>>;
  readonly resyncSeconds?: number;
  readonly pollSeconds?: number;
}

/** Retries and waits as short as a test can bear. */
const habits: Partial<GraphHabits> = { backoffMs: 20, longestBackoffMs: 100, tries: 3 };

export async function liveDrive(options: LiveDriveOptions): Promise<LiveDrive> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'ak-live-drive-'));
  stack.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 10 }));
  const root = join(folder, 'drive');
  const save = async (path: string, text: string) => {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  };
  for (const path of new Set(Object.values(options.agents).flat())) await save(path, `# ${path}\n`);
  const registryPath = join(folder, 'registry.json');
  await writeFile(registryPath, JSON.stringify(registryOf(options.agents)));
  const fake = stack.use(await startFakeGraph({ root }));
  const database = stack.use(await createTestDatabase());
  const logger = recordingLogger();
  const daemons = stack.use(new AsyncDisposableStack());
  const startDaemon = async (): Promise<AsyncDisposable> => {
    await using own = new AsyncDisposableStack();
    const context = database.context();
    const place = { drive: { kind: 'id', driveId: fake.driveId }, rootPath: '' } as const;
    const graph = own.use(
      openGraph(
        {
          cloud: 'global',
          baseUrl: fake.url,
          authority: null,
          downloadHosts: [],
          credentials: { kind: 'token', token: fake.token },
        },
        { habits },
      ),
    );
    const source = own.use(openGraphSource({ graph, place, memory: openDriveMemory(context) }));
    const looker = await makeLooker(context, { id: crypto.randomUUID(), kind: 'daemon', name: 'daemon' });
    own.use(
      await Daemon.start({
        context,
        looker,
        identity: { host: 'test', processId: process.pid },
        source,
        logger,
        clock: systemClock,
        watchEnvironments: ['production'],
        settleTimes: () => settleTimes.fast,
        resyncSeconds: options.resyncSeconds ?? 3600,
        registry: registryFileAt(registryPath),
        watched: watchDrive({
          graph,
          source,
          name: 'the drive',
          pollSeconds: options.pollSeconds ?? 1,
          publicUrl: null,
          keeper: looker.id,
          sweepMs: 3_600_000,
          watchMode: 'sweep',
          statPrint,
        }),
        onLook: () => undefined,
      }),
    );
    return daemons.use(own.move());
  };
  await startDaemon();
  const opened = stack.move();
  return {
    fake,
    database,
    log: logger.lines,
    file: (path) => join(root, path),
    save,
    package: (agent) => readPackage(database.context(), agent),
    async status(agentKey) {
      const context = database.context();
      const [status] = await readStatuses(context, [await readPackage(context, agentKey)]);
      return { outcome: null, reason: null, message: null, ...status };
    },
    startDaemon,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}
