import { createHash } from 'node:crypto';
import { appendFile, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import pLimit from 'p-limit';
import { systemClock } from '../daemon/clock.ts';
import { Daemon } from '../daemon/daemon.ts';
import { watchDrive } from '../daemon/watch-drive.ts';
import { watchFolder } from '../daemon/watch-folder.ts';
import type { WatchedSource } from '../daemon/watched-source.ts';
import { settleTimes } from '../src/core/settle-window.ts';
import { startHttpServer } from '../src/http/server.ts';
import { asLocal } from '../src/main/runtime.ts';
import { openDriveMemory } from '../src/operations/drive-memory.ts';
import { openGraph } from '../src/source/graph/graph-client.ts';
import { openGraphSource, type GraphSource } from '../src/source/graph/graph-source.ts';
import type { Graph } from '../src/source/graph/graph.ts';
import { openLocalSource } from '../src/source/local-source.ts';
import { registryFileAt, statPrint } from '../src/source/registry-file.ts';
import type { Source } from '../src/source/source.ts';
import { openStream } from '../test/support/event-stream.ts';
import { startScript } from '../test/support/watched-processes.ts';
import { compared, median, openScene, timed, type Bench, type Figure, type Scene } from './harness.ts';
import { agentName, filePath, filesOfPackage, registerAgents, writeFiles } from './packages.ts';

const agents = 1000;
const rounds = 3;
const saves = 6;

/**
 * The source `graph`, against the stand-in for Microsoft Graph in a process of its own on the same machine: what a full look at
 * 1,000 agents asks of the service, beside a plain loop that asks for each file; and how long a save takes to a subscriber.
 */
export const drive: Bench = {
  name: 'drive',
  async run(): Promise<readonly Figure[]> {
    return [...(await measureLooks()), ...(await measureSaves())];
  },
};

interface OpenDrive extends AsyncDisposable {
  readonly graph: Graph;
  readonly source: GraphSource;
  readonly driveId: string;
  readonly settings: Readonly<Record<string, string>>;
}

async function openDrive(scene: Scene, root: string, scanEveryMs: number): Promise<OpenDrive> {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await startScript('../../bench/drive/server.ts', [root, `${scanEveryMs}`]));
  const settings = server.first as Record<string, string>;
  const driveId = settings['AGENT_KNOWLEDGE_GRAPH_DRIVE_ID'] ?? '';
  const graph = stack.use(
    openGraph({
      cloud: 'global',
      baseUrl: settings['AGENT_KNOWLEDGE_GRAPH_BASE_URL'] ?? '',
      authority: null,
      downloadHosts: [],
      credentials: { kind: 'token', token: settings['AGENT_KNOWLEDGE_GRAPH_TOKEN'] ?? '' },
    }),
  );
  const place = { drive: { kind: 'id', driveId }, rootPath: '' } as const;
  const source = stack.use(openGraphSource({ graph, place, memory: openDriveMemory(scene.context) }));
  const opened = stack.move();
  return { graph, source, driveId, settings, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

async function measureLooks(): Promise<Figure[]> {
  await using scene = await openScene();
  const { registry } = await registerAgents(scene, agents);
  const root = join(scene.folder, 'knowledge');
  const names = Array.from({ length: agents }, (_, index) => agentName(index));
  for (const name of names) await writeFiles(root, name);
  await using local = openLocalSource({ root });
  await using opened = await openDrive(scene, root, 1_000_000);
  const { graph, source } = opened;
  const lookAtAll = async (from: Source): Promise<void> => {
    const limit = pLimit(20);
    await limit.map(names, async (name) => {
      const files = registry?.agents.get(name)?.files ?? [];
      const look = await from.look(files, { withContent: false, maxFileBytes: 1_048_576 });
      if (look.root !== 'present' || look.files.some(({ state }) => state !== 'present'))
        throw new Error(`${name} was not read whole.`);
    });
  };
  const first = await timed(() => lookAtAll(source));
  const before = graph.usage;
  const ours: number[] = [];
  const plain: number[] = [];
  const disk: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    ours.push(await timed(() => lookAtAll(source)));
    plain.push(await timed(() => askForEach(opened, names)));
    disk.push(await timed(() => lookAtAll(local)));
  }
  const used = (what: 'requests' | 'units') => (graph.usage[what] - before[what]) / rounds;
  const perMinute = (ms: number) => (agents * 60_000) / ms;
  return [
    compared('looks a minute, 1,000 agents x 7 files, nothing new', perMinute(median(ours)), '/min', {
      name: 'one request a file',
      value: perMinute(median(plain)),
    }),
    compared('the same', perMinute(median(ours)), '/min', {
      name: 'hashing the same files on disk',
      value: perMinute(median(disk)),
    }),
    compared('requests of one such pass', used('requests'), '', {
      name: 'one request a file',
      value: agents * filesOfPackage,
    }),
    { name: 'resource units of one such pass', value: used('units'), unit: '' },
    {
      name: 'looks a minute of the timer, held to 600 units',
      value: (600 * agents) / used('units'),
      unit: '/min',
    },
    { name: 'looks a minute with every file downloaded', value: perMinute(first), unit: '/min' },
  ];
}

/** As many requests at once as there are looks, each for the metadata of one file. */
async function askForEach({ settings, driveId }: OpenDrive, names: readonly string[]): Promise<void> {
  const base = `${settings['AGENT_KNOWLEDGE_GRAPH_BASE_URL']}/v1.0/drives/${driveId}/root:/`;
  const headers = { authorization: `Bearer ${settings['AGENT_KNOWLEDGE_GRAPH_TOKEN']}` };
  const paths = names.flatMap((name) =>
    Array.from({ length: filesOfPackage }, (_, index) => filePath(name, index)),
  );
  await pLimit(20).map(paths, async (path) => {
    const answer = await fetch(base + path, { headers });
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status}`);
    await answer.json();
  });
}

async function measureSaves(): Promise<Figure[]> {
  const folder = await measureSave('folder');
  const polled = await measureSave('poll');
  const notified = await measureSave('notification');
  const against = { name: 'a local folder', value: folder };
  return [
    compared('save in the drive until a subscriber has it, notified, p50', notified, 'ms', against),
    compared('the same, polled each second, p50', polled, 'ms', against),
  ];
}

/** Milliseconds from a save until a subscriber is told of its version, the median of some. */
async function measureSave(how: 'folder' | 'poll' | 'notification'): Promise<number> {
  await using scene = await openScene();
  await using stack = new AsyncDisposableStack();
  const { context, looker, folder } = scene;
  const [root, name] = [join(folder, 'knowledge'), agentName(0)];
  const { bytes } = await registerAgents(scene, 1);
  const registryPath = join(folder, 'registry.json');
  await writeFile(registryPath, bytes);
  await mkdir(dirname(join(root, filePath(name, 0))), { recursive: true });
  await writeFiles(root, name);
  const api = await startHttpServer({
    context,
    host: '127.0.0.1',
    port: 0,
    publicUrl: null,
    auth: { off: await asLocal(context) },
    logger: silent,
    readiness: async () => [],
  });
  stack.defer(() => api.close(0));
  const { source, watched, notify } = await openHow(how, { scene, root, stack, api: api.url });
  stack.use(
    await Daemon.start({
      context,
      looker,
      identity: { host: 'bench', processId: process.pid },
      source,
      logger: silent,
      clock: systemClock,
      watchEnvironments: ['production'],
      settleTimes: () => settleTimes.fast,
      resyncSeconds: 3600,
      registry: registryFileAt(registryPath),
      watched,
      onLook: () => undefined,
    }),
  );
  await using stream = await openStream({ url: api.url, key: 'none' });
  await new Promise((resolve) => setTimeout(resolve, 3000));
  const took: number[] = [];
  for (let save = 0; save < saves; save += 1) {
    took.push(
      await timed(async () => {
        await appendFile(join(root, filePath(name, 0)), `Line ${save}.\n`);
        await notify();
        await stream.take(1);
      }),
    );
    // Not in step with the polls, and past the time in which a second save counts as part of the first.
    await new Promise((resolve) => setTimeout(resolve, 2300 + ((save * 370) % 1000)));
  }
  return median(took);
}

async function openHow(
  how: 'folder' | 'poll' | 'notification',
  {
    scene,
    root,
    stack,
    api,
  }: {
    readonly scene: Scene;
    readonly root: string;
    readonly stack: AsyncDisposableStack;
    readonly api: string;
  },
): Promise<{ source: Source; watched: WatchedSource; notify: () => Promise<void> }> {
  const quiet = { sweepMs: 1000, watchMode: 'auto', statPrint } as const;
  if (how === 'folder') {
    const source = stack.use(openLocalSource({ root }));
    return { source, watched: watchFolder({ root, ...quiet }), notify: async () => undefined };
  }
  const { graph, source, driveId } = stack.use(await openDrive(scene, root, 0));
  const pollSeconds = how === 'poll' ? 1 : 3600;
  const watched = watchDrive({
    graph,
    source,
    name: 'drive',
    pollSeconds,
    publicUrl: null,
    keeper: 'bench',
    ...quiet,
  });
  const notify = how === 'poll' ? async () => undefined : await subscribe(scene, driveId, api);
  return { source, watched, notify };
}

/** A subscription as the service would keep it, and a notification of it as the service would send it. */
async function subscribe({ context }: Scene, driveId: string, api: string): Promise<() => Promise<void>> {
  const clientState = 'a secret of the bench';
  const hash = createHash('sha256').update(clientState).digest('hex');
  await context.database.read((queries) =>
    queries
      .insertInto('drive_subscription')
      .values({
        drive_id: driveId,
        subscription_id: 'bench',
        notification_url: api,
        client_state_hash: hash,
        expires_at: new Date(Date.now() + 3_600_000),
      })
      .execute(),
  );
  const value = [
    { subscriptionId: 'bench', clientState, changeType: 'updated', resource: `/drives/${driveId}/root` },
  ];
  return async () => {
    const answer = await fetch(`${api}/hooks/graph`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ value }),
    });
    if (answer.status !== 202) throw new Error(`The notification was answered with ${answer.status}.`);
  };
}

const silent = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
