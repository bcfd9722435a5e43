import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { SubscriptionKeeper } from '../../daemon/subscription-keeper.ts';
import type { Graph } from '../../src/source/graph/graph.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { FakeClock } from '../support/fake-clock.ts';
import {
  refusalOf,
  startFeedServer,
  type FeedAnswer,
  type FeedRequest,
  type FeedServer,
} from '../support/feed-server.ts';
import { recordingLogger } from '../support/graphql.ts';
import { openTestGraph } from '../support/test-graph.ts';

let database: TestDatabase;
let service: FeedServer;
let graph: Graph;
/** The subscriptions that the service keeps, and when each of them ends. */
let kept: Map<string, string>;

beforeAll(async () => {
  database = await createTestDatabase();
});
beforeEach(async () => {
  await run('delete from agent_knowledge.drive_subscription');
  kept = new Map();
  service = await startFeedServer(answer);
  graph = openTestGraph(service.url);
});
afterEach(async () => {
  await graph[Symbol.asyncDispose]();
  await service[Symbol.asyncDispose]();
});
afterAll(() => database[Symbol.asyncDispose]());

let made = 0;

function answer({ method, target, body }: FeedRequest): FeedAnswer {
  const id = decodeURIComponent(target.split('/')[3] ?? '');
  const until = (body as { expirationDateTime?: string } | null)?.expirationDateTime ?? '';
  if (method === 'POST') {
    made += 1;
    kept.set(`sub/${made}`, until);
    return { status: 201, body: { id: `sub/${made}`, expirationDateTime: until } };
  }
  if (!kept.has(id)) return refusalOf(404, 'itemNotFound');
  if (method === 'DELETE') kept.delete(id);
  else kept.set(id, until);
  return method === 'DELETE' ? { status: 204 } : { body: { id, expirationDateTime: until } };
}

async function run(statement: string): Promise<Record<string, unknown>[]> {
  return database.asSuperuser(
    async (client) => (await client.query(statement)).rows as Record<string, unknown>[],
  );
}

function readRow(): Promise<Record<string, unknown> | undefined> {
  return run('select * from agent_knowledge.drive_subscription').then(([row]) => row);
}

/** What was known of each secret at the moment when the service was asked, before it answered. */
function noteHashes(): { known: unknown; sent: string }[] {
  const hashes: { known: unknown; sent: string }[] = [];
  service.answer = async (request) => {
    if (request.method === 'POST') {
      const { clientState } = request.body as { clientState: string };
      hashes.push({ known: (await readRow())?.['client_state_hash'], sent: hashOf(clientState) });
    }
    return answer(request);
  };
  return hashes;
}

function hashOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

interface Scene extends AsyncDisposable {
  readonly keeper: SubscriptionKeeper;
  readonly clock: FakeClock;
  readonly logger: ReturnType<typeof recordingLogger>;
  readonly created: () => number;
  /** Lets time go by in steps of a minute, with the work between them. */
  pass(minutes: number): Promise<void>;
}

const url = 'https://knowledge.example/hooks/graph';

async function start(name = 'one', notificationUrl = url): Promise<Scene> {
  const clock = new FakeClock();
  const logger = recordingLogger();
  const began = Date.now();
  let created = 0;
  let looks = 0;
  const keeper = new SubscriptionKeeper({
    context: database.context({ clock: () => new Date(began + clock.now()) }),
    clock,
    logger,
    graph,
    tree: {
      resolve: async () => {
        looks += 1;
        return { driveId: 'b!drive' };
      },
    },
    notificationUrl,
    keeper: name,
    onCreated: () => (created += 1),
  });
  const stop = new AbortController();
  const running = keeper.run(stop.signal);
  const settle = async () => {
    // Between two looks nothing is asked for any more.
    for (let before = -1; before !== looks + service.requests.length; await sleep(25)) {
      before = looks + service.requests.length;
    }
  };
  await settle();
  return {
    keeper,
    clock,
    logger,
    created: () => created,
    async pass(minutes) {
      for (let minute = 0; minute < minutes; minute += 1) await clock.advance(60_000);
      await settle();
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await clock.advance(0);
      await running;
    },
  };
}

const methods = () => service.requests.map((request) => request.method);

describe('a subscription', () => {
  it('is made for the root of the drive, with a secret whose hash is known before the service is asked (W1, W2)', async () => {
    const hashes = noteHashes();
    await using scene = await start();
    await expect.poll(scene.created).toBe(1);
    const body = service.requests[0]?.body as Record<string, string>;
    const secret = body['clientState'] ?? '';
    expect(body).toEqual({
      changeType: 'updated',
      notificationUrl: url,
      lifecycleNotificationUrl: url,
      resource: '/drives/b!drive/root',
      expirationDateTime: expect.any(String),
      clientState: expect.stringMatching(/^[\w-]{43}$/),
    });
    const minutes = (Date.parse(body['expirationDateTime'] ?? '') - Date.now()) / 60_000;
    expect(minutes).toBeGreaterThan(4000);
    expect(minutes).toBeLessThan(42_300);
    expect(hashes).toEqual([{ known: hashOf(secret), sent: hashOf(secret) }]);
    expect(JSON.stringify([await readRow(), scene.logger.lines])).not.toContain(secret);
    await expect.poll(() => scene.keeper.notifiedUntil?.getTime()).toBeGreaterThan(Date.now());
  });

  it('has a round follow it at once, and costs nothing until half of its life is over, when it is renewed (W3, W4)', async () => {
    await using scene = await start();
    await expect.poll(scene.created).toBe(1);
    await scene.pass(10);
    expect(methods()).toEqual(['POST']);
    await run("update agent_knowledge.drive_subscription set renew_at = now() - interval '1 second'");
    await scene.pass(1);
    await expect.poll(methods).toEqual(['POST', 'PATCH']);
    expect(service.requests[1]?.target).toMatch(/^\/v1\.0\/subscriptions\/sub%2F\d+$/);
    await expect
      .poll(async () => (await readRow())?.['renew_at'] as Date)
      .toSatisfy((at: Date) => at > new Date());
    expect(scene.created()).toBe(1);
  });

  it('that the service has lost is made anew when it is to be renewed, and at once where it says so (W3)', async () => {
    await using scene = await start();
    await expect.poll(scene.created).toBe(1);
    kept.clear();
    const hashes = noteHashes();
    await run("update agent_knowledge.drive_subscription set renew_at = now() - interval '1 second'");
    await scene.pass(1);
    await expect.poll(methods).toEqual(['POST', 'PATCH', 'POST']);
    await expect.poll(scene.created).toBe(2);
    // A new secret each time, and known each time before its first notification may come.
    expect(hashes.map(({ known }) => known)).toEqual(hashes.map(({ sent }) => sent));
    await run(
      'update agent_knowledge.drive_subscription set subscription_id = null, expires_at = null, renew_at = null',
    );
    await scene.pass(1);
    await expect.poll(scene.created).toBe(3);
  });

  it('is gone on with after a restart, and ended for one that notifies where this server is now', async () => {
    await using first = await start('one');
    await expect.poll(first.created).toBe(1);
    await first[Symbol.asyncDispose]();
    expect(methods()).toEqual(['POST']);
    await run("update agent_knowledge.drive_subscription set kept_until = now() - interval '1 second'");
    await using second = await start('two');
    await expect.poll(() => second.keeper.notifiedUntil).not.toBeNull();
    expect(methods()).toEqual(['POST']);
    await second[Symbol.asyncDispose]();
    await run("update agent_knowledge.drive_subscription set kept_until = now() - interval '1 second'");
    await using moved = await start('three', 'https://moved.example/hooks/graph');
    await expect.poll(moved.created).toBe(1);
    expect(methods()).toEqual(['POST', 'DELETE', 'POST']);
    expect(kept.size).toBe(1);
  });

  it('is kept by one daemon of two, and both know of it', async () => {
    await using one = await start('one');
    await using two = await start('two');
    await expect.poll(() => one.keeper.notifiedUntil).not.toBeNull();
    await two.pass(1);
    await expect.poll(() => two.keeper.notifiedUntil).not.toBeNull();
    expect(methods()).toEqual(['POST']);
    expect(one.created() + two.created()).toBe(1);
  });
});

describe('a refusal', () => {
  it('is told once, and asked about less and less often, each hour at last; what was held before is not told of', async () => {
    service.answer = () => refusalOf(403, 'accessDenied');
    await using scene = await start();
    await scene.pass(1);
    for (let hour = 0; hour < 8; hour += 1) await scene.pass(60);
    const asked = service.requests.length;
    expect(asked).toBeLessThan(16);
    expect(scene.logger.lines.filter(({ level }) => level === 'warn')).toHaveLength(1);
    expect(scene.keeper.notifiedUntil).toBeNull();
    service.answer = answer;
    await scene.pass(61);
    await expect.poll(scene.created).toBe(1);
  });
});
