import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { DriveHints, type DriveHintsOptions } from '../../../daemon/hints/drive-hints.ts';
import type { KnownItem } from '../../../src/core/drive-tree.ts';
import type { FolderEvent } from '../../../src/core/folder-event.ts';
import { recallCursor } from '../../../src/operations/drive-cursor.ts';
import { linkMadeWith } from '../../../src/source/graph/delta-feed.ts';
import { GraphError } from '../../../src/source/graph/graph-error.ts';
import type { Graph } from '../../../src/source/graph/graph.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import {
  pageOf,
  refusalOf,
  startFeedServer,
  type FeedAnswer,
  type FeedServer,
} from '../../support/feed-server.ts';
import { recordingLogger } from '../../support/graphql.ts';
import { openTestGraph } from '../../support/test-graph.ts';

let database: TestDatabase;
let feed: FeedServer;
let graph: Graph;
let drives = 0;

beforeAll(async () => {
  database = await createTestDatabase();
});
beforeEach(async () => {
  drives += 1;
  feed = await startFeedServer(() => refusalOf(404, 'itemNotFound'));
  graph = openTestGraph(feed.url);
});
afterEach(async () => {
  await graph[Symbol.asyncDispose]();
  await feed[Symbol.asyncDispose]();
});
afterAll(() => database[Symbol.asyncDispose]());

const known: readonly KnownItem[] = [
  { path: '.', kind: 'folder', itemId: 'root', parentId: null, name: 'root' },
  { path: 'Rules.md', kind: 'file', itemId: 'rules', parentId: 'root', name: 'Rules.md' },
];
const edited = { id: 'rules', name: 'Rules.md', parentReference: { id: 'root' }, file: {} };

const driveId = () => `b!drive-${drives}`;
const link = (token: string) => `${feed.url}/v1.0/drives/${driveId()}/root/delta?token=${token}`;
const done = (token: string, value: readonly unknown[] = []) => pageOf(value, { delta: link(token) });

/** What the feed answers to each token; the last of several answers is given for ever. */
function script(pages: Readonly<Record<string, FeedAnswer | readonly FeedAnswer[]>>): void {
  const left = new Map(Object.entries(pages).map(([token, page]) => [token, [page].flat()]));
  feed.answer = ({ target }) => {
    const answers = left.get(target.replace(/^.*token=/, '')) ?? [];
    return (answers.length > 1 ? answers.shift() : answers[0]) ?? refusalOf(500, 'generalException');
  };
}

interface Scene extends AsyncDisposable {
  readonly hints: DriveHints;
  readonly clock: FakeClock;
  readonly events: FolderEvent[];
  readonly reasons: string[];
  readonly logger: ReturnType<typeof recordingLogger>;
  /** Rounds that have ended. */
  rounds(count: number): Promise<void>;
}

function start(change: Partial<DriveHintsOptions> = {}): Scene {
  const clock = new FakeClock();
  const [events, reasons, logger] = [[] as FolderEvent[], [] as string[], recordingLogger()];
  const began = Date.now();
  // The time of day goes with the clock, so that what is told of times can be compared.
  const context = database.context({ clock: () => new Date(began + clock.now()) });
  const hints = new DriveHints({
    context,
    clock,
    logger,
    registryPath: '/nowhere/registry.json',
    onFiles: (event) => events.push(event),
    onEverything: (reason) => reasons.push(reason),
    onCondition: () => undefined,
    graph,
    tree: { resolve: async () => ({ driveId: driveId() }), knownItems: async () => known },
    pollSeconds: 30,
    registry: null,
    subscription: null,
    random: () => 0,
    ...change,
  });
  hints.watch(['Rules.md']);
  const stop = new AbortController();
  const running = hints.run(stop.signal);
  return {
    hints,
    clock,
    events,
    reasons,
    logger,
    async rounds(count) {
      await expect
        .poll(() => feed.requests.length, { timeout: 5000, interval: 5 })
        .toBeGreaterThanOrEqual(count);
      await expect.poll(() => hints.condition.drive?.phase, { timeout: 5000, interval: 5 }).toBe('waits');
      await sleep(5);
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await clock.advance(0);
      await running;
    },
  };
}

function storedLink(): Promise<string | null> {
  return recallCursor(database.context(), { driveId: driveId(), madeWith: linkMadeWith(graph, driveId()) });
}

describe('the first round', () => {
  it('takes the end of the feed first, has everything looked at, and keeps the link (D2)', async () => {
    script({ latest: done('one') });
    await using scene = start();
    await scene.rounds(1);
    expect(scene.reasons).toHaveLength(1);
    expect(await storedLink()).toBe(link('one'));
    expect(scene.hints.condition).toMatchObject({
      watcher: 'poll',
      watcherMessage: null,
      drive: {
        driveId: driveId(),
        phase: 'waits',
        pages: 1,
        lastError: null,
        lastRoundAt: expect.any(String),
      },
    });
  });

  it('goes on from where the last daemon was, and from the end of the feed where that link means nothing here (D18)', async () => {
    script({ latest: done('one'), one: done('two'), two: done('three', [edited]) });
    await using before = start();
    await before.rounds(1);
    await before[Symbol.asyncDispose]();
    await using after = start();
    await after.rounds(2);
    expect(feed.requests.at(-1)?.target).toContain('token=one');
    expect(after.reasons).toEqual([]);
    drives += 1;
    script({ latest: done('else') });
    await using other = start();
    await other.rounds(3);
    expect(feed.requests.at(-1)?.target).toContain('token=latest');
  });
});

describe('a round', () => {
  it('hints at what has changed, each 30 s, and then only keeps its link (bugs 5, 6)', async () => {
    script({ latest: done('one'), one: done('two', [edited]), two: done('two') });
    const order: string[] = [];
    await using scene = start({
      onFiles: (event) => order.push(`hint at ${event.file}`),
      tree: {
        resolve: async () => ({ driveId: driveId() }),
        knownItems: async () => {
          order.push((await storedLink()) ?? 'none');
          return known;
        },
      },
    });
    await scene.rounds(1);
    await scene.clock.advance(29_000);
    expect(feed.requests).toHaveLength(1);
    await scene.clock.advance(1000);
    await scene.rounds(2);
    expect(order).toEqual([link('one'), 'hint at Rules.md']);
    await expect.poll(storedLink).toBe(link('two'));
    expect(scene.hints.condition.drive).toMatchObject({ hints: 1, items: 1 });
  });

  it('that cannot say what changed keeps its link, and the next one reads the same again (bugs 5, 6, D3)', async () => {
    script({ latest: done('one'), one: done('two', [edited]), two: done('two') });
    let isAway = true;
    await using scene = start({
      tree: {
        resolve: async () => ({ driveId: driveId() }),
        knownItems: async () => {
          if (isAway) throw new GraphError('unavailable', 'The folder could not be read.');
          return known;
        },
      },
    });
    await scene.rounds(1);
    await scene.clock.advance(30_000);
    await scene.rounds(2);
    expect(await storedLink()).toBe(link('one'));
    expect(scene.hints.condition).toMatchObject({
      watcher: 'degraded',
      watcherMessage: 'The folder could not be read.',
    });
    isAway = false;
    await scene.clock.advance(30_000);
    await scene.rounds(3);
    expect(scene.events).toMatchObject([{ file: 'Rules.md' }]);
    await expect.poll(storedLink).toBe(link('two'));
    expect(scene.hints.condition).toMatchObject({ watcher: 'poll', watcherMessage: null });
  });

  it('is one at a time and a second from the one before, whoever wakes it and how often (T5)', async () => {
    script({ latest: done('one'), one: done('one') });
    await using scene = start();
    for (let at = 0; at < 100; at += 1) scene.hints.wake();
    await scene.rounds(1);
    for (let at = 0; at < 100; at += 1) scene.hints.wake();
    await scene.clock.advance(999);
    expect(feed.requests).toHaveLength(1);
    await scene.clock.advance(1);
    await scene.rounds(2);
    await scene.clock.advance(28_000);
    expect(feed.requests).toHaveLength(2);
    scene.hints.wake();
    await scene.rounds(3);
  });

  it('after a link that is worth nothing has everything looked at, and goes on from the new one (D19, F63, bugs 11, 13)', async () => {
    script({ latest: [done('one'), done('new')], one: refusalOf(410, 'resyncRequired'), new: done('new') });
    await using scene = start();
    await scene.rounds(1);
    await scene.clock.advance(30_000);
    await scene.rounds(3);
    expect(scene.reasons).toHaveLength(2);
    await expect.poll(storedLink).toBe(link('new'));
    expect(scene.hints.condition).toMatchObject({ watcher: 'poll', drive: { lastError: null } });
  });

  it('whose pages do not end is told, hints at what it saw, and begins from the old link again (D16, bug 15)', async () => {
    script({
      latest: done('one'),
      one: pageOf([edited], { next: link('loop') }),
      loop: pageOf([], { next: link('loop') }),
    });
    await using scene = start();
    await scene.rounds(1);
    await scene.clock.advance(30_000);
    await scene.rounds(3);
    await expect.poll(() => scene.hints.condition.watcher).toBe('degraded');
    expect(scene.events).toMatchObject([{ file: 'Rules.md' }]);
    expect(await storedLink()).toBe(link('one'));
  });
});

describe('trouble', () => {
  it('is told once with its code and request, waited out longer and longer, and over by itself (D23, bugs 14, 31)', async () => {
    const refused = refusalOf(403, 'accessDenied');
    script({ latest: done('one'), one: [refused, refused, refused, done('one')] });
    let told = 0;
    await using scene = start({ onCondition: () => (told += 1) });
    await scene.rounds(1);
    for (const [after, requests] of [
      [30_000, 2],
      [30_000, 3],
      [60_000, 4],
      [120_000, 5],
    ] as const) {
      await scene.clock.advance(after - 1);
      expect(feed.requests).toHaveLength(requests - 1);
      await scene.clock.advance(1);
      await scene.rounds(requests);
      if (requests === 5) break;
      const { drive } = scene.hints.condition;
      expect(drive?.lastError).toMatch(/accessDenied/);
      expect(drive?.lastError).toMatch(/req-7/);
    }
    await expect.poll(() => scene.hints.condition.watcher).toBe('poll');
    expect(scene.logger.lines.filter(({ level }) => level === 'warn')).toHaveLength(1);
    expect(told).toBe(2);
    expect(scene.reasons).toHaveLength(1);
  });

  it('is no reason to ask each second, though somebody wakes it each second (T5)', async () => {
    script({ latest: refusalOf(403, 'accessDenied') });
    await using scene = start();
    await scene.rounds(1);
    for (let second = 0; second < 29; second += 1) {
      scene.hints.wake();
      await scene.clock.advance(1000);
    }
    expect(feed.requests).toHaveLength(1);
    await scene.clock.advance(1000);
    await scene.rounds(2);
  });

  it('of a drive that tells no changes is told; it is asked again each hour, and who knows of a change has everything looked at (N2, bug 33)', async () => {
    script({ latest: [refusalOf(400, 'notSupported'), refusalOf(400, 'notSupported'), done('one')] });
    await using scene = start();
    await scene.rounds(1);
    await expect.poll(() => scene.hints.condition.watcher).toBe('degraded');
    await scene.clock.advance(60_000);
    expect(scene.reasons).toEqual([]);
    scene.hints.wake();
    await scene.rounds(2);
    await expect.poll(() => scene.reasons.length).toBe(1);
    await scene.clock.advance(3_600_000);
    await scene.rounds(3);
    await expect.poll(() => scene.hints.condition.watcher).toBe('poll');
    expect(scene.reasons).toHaveLength(2);
  });

  it('of settings that name no drive leaves it off, and no request leaves (K-007)', async () => {
    const setup = new GraphError('setup', 'No drive is named.');
    const tree = { resolve: () => Promise.reject(setup), knownItems: async () => known };
    await using scene = start({ tree });
    await expect.poll(() => scene.hints.condition.drive?.phase).toBe('off');
    await scene.clock.advance(120_000);
    expect(feed.requests).toEqual([]);
    expect(scene.hints.condition).toMatchObject({
      watcher: 'degraded',
      watcherMessage: 'No drive is named.',
    });
  });
});

describe('the end', () => {
  it('does not wait for a service that does not answer', async () => {
    const scene = start({
      tree: { resolve: () => new Promise(() => undefined), knownItems: async () => known },
    });
    await scene[Symbol.asyncDispose]();
    expect(feed.requests).toEqual([]);
  });
});

describe('another drive', () => {
  it('that the settings lead to is begun anew, and everything is looked at (A9, D18)', async () => {
    let id = driveId();
    feed.answer = ({ target }) =>
      pageOf([], { delta: `${feed.url}${target.replace(/token=.*/, 'token=on')}` });
    await using scene = start({
      tree: { resolve: async () => ({ driveId: id }), knownItems: async () => known },
    });
    await scene.rounds(1);
    id = 'b!elsewhere';
    await scene.clock.advance(30_000);
    await scene.rounds(2);
    expect(feed.requests.at(-1)?.target).toContain('b!elsewhere/root/delta?token=latest');
    expect(scene.hints.condition.drive).toMatchObject({ driveId: 'b!elsewhere' });
    expect(scene.reasons.length).toBeGreaterThanOrEqual(2);
  });
});
