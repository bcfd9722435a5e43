import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../daemon/clock.ts';
import { watchDrive, type WatchDriveOptions } from '../../daemon/watch-drive.ts';
import type { FolderEvent } from '../../src/core/folder-event.ts';
import { statPrint } from '../../src/source/registry-file.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { pageOf, startFeedServer, type FeedServer } from '../support/feed-server.ts';
import { recordingLogger } from '../support/graphql.ts';
import { startTestServer } from '../support/http.ts';
import { openTestGraph } from '../support/test-graph.ts';

let database: TestDatabase;
let folder: string;

beforeAll(async () => {
  database = await createTestDatabase();
  folder = await mkdtemp(join(tmpdir(), 'agent-knowledge-drive-'));
  await writeFile(join(folder, 'registry.json'), '{}');
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
  await database[Symbol.asyncDispose]();
});

/** A feed in which one file changes at each round, and a service that takes every subscription. */
function startFeed(): Promise<FeedServer> {
  const edited = { id: 'rules', name: 'Rules.md', parentReference: { id: 'root' }, file: {} };
  const next = (feedUrl: string) => ({ delta: `${feedUrl}/v1.0/drives/b!drive/root/delta?token=next` });
  const feed = startFeedServer(({ method, target }) => {
    if (method === 'POST') return { status: 201, body: { id: 'sub-1' } };
    return pageOf(target.endsWith('latest') ? [] : [edited], next(url));
  });
  let url = '';
  return feed.then((started) => {
    url = started.url;
    return started;
  });
}

/** Waits until what a start wakes is over: rounds are a second apart. */
async function quiet(feed: FeedServer): Promise<void> {
  for (let before = -1; before !== feed.requests.length; await sleep(1200)) before = feed.requests.length;
}

async function watch(feed: FeedServer, change: Partial<WatchDriveOptions> = {}) {
  const graph = openTestGraph(feed.url);
  const events: FolderEvent[] = [];
  const told = { registry: 0, everything: 0 };
  const watched = watchDrive({
    graph,
    source: {
      resolve: async () => ({ driveId: 'b!drive' }),
      knownItems: async () => [
        { path: 'Rules.md', kind: 'file', itemId: 'rules', parentId: 'root', name: 'Rules.md' },
      ],
      seeRoot: async () => ({ path: 'a drive', folder: 'there', place: null, files: new Map() }),
    },
    name: 'a drive',
    pollSeconds: 3600,
    publicUrl: 'http://127.0.0.1:4000',
    keeper: 'this daemon',
    sweepMs: 50,
    watchMode: 'sweep',
    statPrint,
    ...change,
  });
  const hints = watched.openHints({
    context: database.context(),
    clock: systemClock,
    logger: recordingLogger(),
    registryPath: join(folder, 'registry.json'),
    onFiles: (event) => events.push(event),
    onRegistry: async () => void (told.registry += 1),
    onEverything: () => (told.everything += 1),
    onCondition: () => undefined,
  });
  hints.watch(['Rules.md']);
  const stop = new AbortController();
  const running = hints.run(stop.signal);
  return {
    watched,
    hints,
    events,
    told,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
      await graph[Symbol.asyncDispose]();
    },
  };
}

describe('a drive that is watched', () => {
  it('has its root seen at each poll, its registry read when that file changes, and nothing else of that folder', async () => {
    await using feed = await startFeed();
    await using scene = await watch(feed);
    expect(scene.watched.root).toMatchObject({ path: 'a drive', everyMs: 3_600_000 });
    expect(await scene.watched.root.see([])).toMatchObject({ folder: 'there' });
    await expect.poll(() => scene.told.registry).toBeGreaterThan(0);
    await quiet(feed);
    const before = { registry: scene.told.registry, events: scene.events.length };
    await writeFile(join(folder, 'Rules.md'), 'not the drive');
    await writeFile(join(folder, 'registry.json'), '{"changed": true}');
    await expect.poll(() => scene.told.registry).toBeGreaterThan(before.registry);
    expect(scene.events).toHaveLength(before.events);
    expect(scene.told.everything).toBe(1);
  });

  it('asks for no notifications where nobody could send them (W1)', async () => {
    await using feed = await startFeed();
    await using scene = await watch(feed);
    await expect.poll(() => feed.requests.length).toBeGreaterThan(0);
    expect(feed.requests.every(({ method }) => method === 'GET')).toBe(true);
    expect(scene.hints.condition).toMatchObject({ watcher: 'poll', drive: { notifiedUntil: null } });
  });
});

describe('a notification', () => {
  it('leads from the door through the queue to a look at the file that changed, long before the poll (W2, W4)', async () => {
    await using feed = await startFeed();
    await using server = await startTestServer(database, { publicUrl: 'https://knowledge.example' });
    await using scene = await watch(feed, { publicUrl: 'https://knowledge.example/' });
    await database.queue.work(
      { refresh: async () => undefined, resync: async () => undefined, poll: async () => scene.hints.wake() },
      1,
    );
    await expect.poll(() => scene.hints.condition.watcher, { timeout: 5000 }).toBe('notified');
    const subscribed = feed.requests.find(({ method }) => method === 'POST')?.body as Record<string, string>;
    expect(subscribed['notificationUrl']).toBe('https://knowledge.example/hooks/graph');
    // What the start and the new subscription wake is over.
    await quiet(feed);
    const before = scene.events.length;
    const notify = (clientState: string | undefined) =>
      fetch(`http://127.0.0.1:${server.port}/hooks/graph`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ value: [{ subscriptionId: 'sub-1', changeType: 'updated', clientState }] }),
      });
    expect((await notify(createHash('sha256').update('guess').digest('hex'))).status).toBe(202);
    await sleep(1500);
    expect(scene.events).toHaveLength(before);
    expect((await notify(subscribed['clientState'])).status).toBe(202);
    await expect.poll(() => scene.events.length, { timeout: 5000 }).toBe(before + 1);
    expect(scene.events.at(-1)).toMatchObject({ file: 'Rules.md' });
  });
});
