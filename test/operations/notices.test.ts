import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { armFailpoints, type Failpoint } from '../../src/core/failpoint.ts';
import { acceptRegistry } from '../../src/operations/accept-registry.ts';
import { activateVersion } from '../../src/operations/activate-version.ts';
import { holdPackage } from '../../src/operations/hold-package.ts';
import { readNotices, retryNotices } from '../../src/operations/manage-notices.ts';
import { queueNotices } from '../../src/operations/queue-notices.ts';
import { JobQueue } from '../../src/store/job-queue.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { loadVersion, lookAt, lookOf, registerAgent } from '../support/knowledge.ts';
import { NoticeCatcher } from '../support/notice-catcher.ts';
import {
  findUntold,
  headOfLog,
  letNoticesBecomeDue,
  startKeeper,
  storedNotices,
} from '../support/notices.ts';
import { eventually } from '../support/processes.ts';

let database: TestDatabase;
let catcher: NoticeCatcher;
beforeEach(async () => {
  database = await createTestDatabase();
  catcher = await NoticeCatcher.open();
});
afterEach(async () => {
  armFailpoints(() => undefined);
  await catcher[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

const watched = { agentKey: 'a', watchEnvironments: ['production'] };
const good = { ...watched, files: { 'a.md': 'Good.\n' } };
const missing = {
  ...good,
  look: { root: 'present', notices: [], files: [{ state: 'absent', relativePath: 'a.md', hints: [] }] },
} as never;
const load = (text: string, agentKey = 'a') =>
  loadVersion(database, { ...watched, agentKey, files: { 'a.md': text } });
const queue = () => queueNotices(database.context());
const typesOf = async () => (await storedNotices(database)).map(({ type }) => type.replace('knowledge.', ''));

/** Fails once at this point, as a process would that ends there. */
function failAt(wanted: Failpoint): void {
  let isOver = false;
  armFailpoints((point) => {
    if (point !== wanted || isOver) return;
    isOver = true;
    throw new Error(`planted at ${point}`);
  });
}

describe('the way from the log to the notices', () => {
  test('begins at the head of the log, and leads by every change of a package (once each)', async () => {
    await load('One.\n');
    await queue();
    expect(await storedNotices(database)).toEqual([]);
    const head = await headOfLog(database);

    await load('Two.\n');
    const call = database.context();
    await activateVersion(call, { agentKey: 'a', knowledgeVersion: 'v1' });
    await holdPackage(call, { agentKey: 'a', reason: 'CANARY in a remark' });
    await lookAt(database, missing);
    const looker = { id: 'here', actorId: call.caller.actorId };
    await acceptRegistry(call, { bytes: Buffer.from('{'), looker, watchEnvironments: ['production'] });
    await queue();
    await queue();
    expect(await findUntold(database, head)).toEqual([]);
    const made = await storedNotices(database);
    expect(made.map(({ type }) => type.replace('knowledge.', ''))).toEqual(
      'loaded activated activated held refused refused stale'.split(' '),
    );
    const bodies = made.map(({ body }) => JSON.parse(body).data);
    const [two, one] = [bodies[0].checksum, bodies[2].checksum];
    expect(bodies).toMatchObject([
      { knowledgeVersion: 'v2', checksum: expect.stringMatching(/^[0-9a-f]{64}$/), generation: 2 },
      { knowledgeVersion: 'v2', checksum: two, generation: 2, actor: { kind: 'local' } },
      // The log does not say it, and whoever is told wants to know.
      { knowledgeVersion: 'v1', checksum: expect.stringMatching(/^[0-9a-f]{64}$/), generation: 3 },
      { holdCause: 'OPERATOR', reason: null },
      {
        reason: 'missing_required',
        faults: [{ code: 'missing_required', relativePath: 'a.md', line: null }],
      },
      { agentKey: null, environment: null, reason: 'registry_bad_json' },
      { knowledgeVersion: 'v1', generation: 3, sequence: null, reason: 'missing_required', actor: null },
    ]);
    expect(one).not.toBe(two);
    expect(JSON.stringify(made)).not.toContain('CANARY');
  });

  test('is gone by one daemon at a time, however many there are, and not left by one that dies on it', async () => {
    await queue();
    const head = await headOfLog(database);
    for (const text of ['One.\n', 'Two.\n', 'Three.\n']) await load(text);
    failAt('before notice cursor');
    await expect(queue()).rejects.toThrow('planted');
    expect(await storedNotices(database)).toEqual([]);
    await Promise.all(Array.from({ length: 8 }, queue));
    expect(await findUntold(database, head)).toEqual([]);

    // Control: a cursor that moved on without its notices, which the same check finds.
    await load('Four.\n');
    await database.asSuperuser((client) =>
      client.query(
        'update agent_knowledge.notice_cursor set sequence = (select sequence from agent_knowledge.event_head)',
      ),
    );
    await queue();
    expect(await findUntold(database, head)).toEqual([
      expect.stringContaining('knowledge.loaded'),
      expect.stringContaining('knowledge.activated'),
    ]);
  });

  test('tells that a source is stale once, and again only after it was well (also by another daemon, later)', async () => {
    await queue();
    const stales = async () => (await typesOf()).filter((type) => type === 'stale').length;
    // Not of one that was registered a moment ago.
    await registerAgent(database, good);
    await queue();
    expect(await stales()).toBe(0);
    await load('One.\n');
    await lookAt(database, missing);
    await Promise.all([queue(), queue()]);
    await lookAt(database, missing);
    await queue();
    expect(await stales()).toBe(1);
    await lookAt(database, good);
    await queue();
    expect(await stales()).toBe(1);
    // Stale by age, as where nobody has looked.
    await database.asSuperuser((client) =>
      client.query(
        `update agent_knowledge.source_status set last_success_at = last_success_at - interval '1 day'`,
      ),
    );
    await queue();
    await queue();
    expect(await stales()).toBe(2);
    const last = (await storedNotices(database)).at(-1);
    expect(JSON.parse(last?.body ?? '').data).toMatchObject({ reason: 'not_looked_at', faults: [] });
  });

  test('keeps the bodies of 2,000 faults below 16 KB, and a refused secret out of them', async () => {
    await load('One.\n');
    await queue();
    const paths = Array.from({ length: 200 }, (_, index) => `${'deep/'.repeat(20)}${index}.md`);
    // In two parts, so that no scanner takes this file's own text for a key.
    const secret = ['AKIA', 'IOSFODNN7EXAMPLQ'].join('');
    const words = '<script> <?php <iframe <object <embed javascript:x \u{e0041} \u202e \0';
    const text = `CANARY ${words}\n${secret}\n`;
    const files = Object.fromEntries(paths.map((path) => [path, text]));
    const { faults } = await lookAt(database, { ...watched, files, look: lookOf(files) });
    expect(faults.length).toBeGreaterThanOrEqual(2000);
    await queue();
    const [refused] = await storedNotices(database);
    expect(Buffer.byteLength(refused?.body ?? '')).toBeLessThan(16_000);
    expect(refused?.body).not.toMatch(/CANARY|AKIA|script>/);
    const { data } = JSON.parse(refused?.body ?? '');
    expect(data.faults.length + data.moreFaults).toBe(faults.length);
  });
});

describe('a notice', () => {
  beforeEach(() => queue());

  const states = async () =>
    (await storedNotices(database)).map(({ state, attempts }) => `${state} ${attempts}`);

  test('is tried as often as there are waits and once more, is dead then, and is sent again when a person says so', async () => {
    catcher.answer = () => 500;
    await using keeper = await startKeeper(database, catcher.url, [0, 0]);
    await load('One.\n');
    await eventually(states, (all) => all.length === 2 && all.every((state) => state === 'DEAD 3'));
    expect(catcher.requests).toHaveLength(6);
    expect(new Set(catcher.notices().map(({ id }) => id)).size).toBe(2);
    const call = database.context();
    const dead = await readNotices(call, { onlyDead: true, limit: 10 });
    expect(dead.map(({ lastError }) => lastError)).toEqual(
      dead.map(() => `127.0.0.1:${catcher.port} answered 500.`),
    );
    // Path, query and credentials of the address are secrets.
    expect(JSON.stringify([dead, keeper.log])).not.toMatch(/hidden|hook-/);

    catcher.answer = () => 204;
    await retryNotices(call, { allDead: true });
    await eventually(states, (all) => all.every((state) => state === 'DELIVERED 1'));
    await expect(retryNotices(call, { id: dead[0]!.id })).rejects.toMatchObject({ code: 'CONFLICT' });
    await expect(retryNotices(call, { id: 'msg_none' })).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  test('that its receiver wants no more is dead at once', async () => {
    catcher.answer = () => 410;
    await using _keeper = await startKeeper(database, catcher.url);
    await load('One.\n');
    await eventually(states, (all) => all.length === 2 && all.every((state) => state === 'DEAD 1'));
  });

  test('whose sender dies before it could note the answer is sent again under the same id (at least once)', async () => {
    failAt('after notice sent');
    await using _keeper = await startKeeper(database, catcher.url);
    await load('One.\n');
    await eventually(states, (all) => all.includes('DELIVERED 1'));
    await eventually(
      async () => catcher.requests.length,
      (count) => count === 2,
    );
    // The claim of the dead lapses; its job is locked for hours, and another one is made.
    await letNoticesBecomeDue(database);
    await eventually(states, (all) => all.every((state) => state.startsWith('DELIVERED')));
    const ids = catcher.notices().map(({ id }) => id);
    expect([ids.length, new Set(ids).size]).toEqual([3, 2]);
  });

  test('whose job is lost is sent all the same', async () => {
    await load('One.\n');
    await queue();
    await database.asSuperuser((client) => client.query('delete from graphile_worker._private_jobs'));
    await using _keeper = await startKeeper(database, catcher.url);
    await eventually(states, (all) => all.length === 2 && all.every((state) => state === 'DELIVERED 1'));
  });

  test('that nobody answers keeps no look waiting, and is given back when its process ends', async () => {
    catcher.answer = () => () => undefined;
    for (const agent of ['a', 'b', 'c']) await load('One.\n', agent);
    const looked: string[] = [];
    {
      await using _keeper = await startKeeper(database, catcher.url);
      await eventually(
        async () => catcher.requests.length,
        (count) => count === 2,
      );
      await using looks = await JobQueue.open(database.applicationUrl);
      const refresh = async ({ agentKey }: { agentKey: string }) => void looked.push(agentKey);
      await looks.work({ refresh, resync: async () => undefined, poll: async () => undefined }, 2);
      for (const agentKey of ['a', 'b', 'c'])
        await database.queue.requestRefresh({ agentKey, environment: 'production' });
      await eventually(
        async () => looked.length,
        (count) => count === 3,
      );
      expect(catcher.requests).toHaveLength(2);
    }
    expect(new Set(await states())).toEqual(new Set(['WAITING 0']));
  });

  test('is forgotten a month after it was delivered, and never while it is dead', async () => {
    await using _keeper = await startKeeper(database, catcher.url);
    await load('One.\n');
    await eventually(states, (all) => all.length === 2 && all.every((state) => state === 'DELIVERED 1'));
    await database.asSuperuser((client) =>
      client.query(`update agent_knowledge.notice set finished_at = finished_at - interval '31 days',
        state = case type when 'knowledge.loaded' then 'DEAD' else state end`),
    );
    await eventually(states, (all) => all.length === 1);
    expect(await states()).toEqual(['DEAD 1']);
  });
});
