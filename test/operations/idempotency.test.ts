import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { activateVersion } from '../../src/operations/activate-version.ts';
import type { CallContext } from '../../src/operations/context.ts';
import { holdPackage, releasePackage } from '../../src/operations/hold-package.ts';
import { promoteVersion } from '../../src/operations/promote-version.ts';
import { requestRefresh } from '../../src/operations/request-refresh.ts';
import { addActor } from '../../src/store/actors.ts';
import { forgetOldKeys } from '../../src/store/idempotency-keys.ts';
import { caller, createTestDatabase, type TestDatabase } from '../support/database.ts';
import { openLooks, type TestAgent, type TestLooks } from '../support/looks.ts';

/* Guarantee 8: asking again with the same key gives the first outcome, once (G8, F45). */

let database: TestDatabase;
let looks: TestLooks;
let context: CallContext;
beforeAll(async () => {
  database = await createTestDatabase();
  looks = await openLooks(database);
  context = database.context();
});
afterAll(() => database[Symbol.asyncDispose]());

/** An agent with v1 and v2 in production, and v1 in dev. */
async function prepare(): Promise<TestAgent> {
  const agent = looks.agent();
  for (const text of ['one', 'two']) await agent.refresh(text);
  await looks.elsewhere(agent, 'dev').refresh('three');
  return agent;
}

async function keysKept(): Promise<number> {
  const rows = await database.database.read((queries) =>
    queries.selectFrom('idempotency_key').selectAll().execute(),
  );
  return rows.length;
}

async function countAttempts(agent: TestAgent): Promise<number> {
  const { agentKey, environment } = agent.name;
  const rows = await database.database.read((queries) =>
    queries
      .selectFrom('refresh_attempt')
      .select('id')
      .where('agent_key', '=', agentKey)
      .where('environment', '=', environment)
      .execute(),
  );
  return rows.length;
}

describe('one key fifty times at once', () => {
  type Call = (agent: TestAgent, idempotencyKey: string) => Promise<unknown>;
  const calls: [mutation: string, effects: string[], call: Call][] = [
    [
      'activate',
      ['rollback'],
      ({ name }, idempotencyKey) =>
        activateVersion(context, { ...name, knowledgeVersion: 'v1', idempotencyKey }),
    ],
    [
      'hold',
      ['held'],
      ({ name }, idempotencyKey) => holdPackage(context, { ...name, reason: 'Wait.', idempotencyKey }),
    ],
    [
      'promote',
      ['loaded'],
      ({ name }, idempotencyKey) =>
        promoteVersion(context, {
          agentKey: name.agentKey,
          from: 'dev',
          to: 'production',
          knowledgeVersion: 'v1',
          idempotencyKey,
        }),
    ],
    [
      'refresh',
      [],
      ({ name }, idempotencyKey) => requestRefresh(context, { ...name, waitSeconds: 0, idempotencyKey }),
    ],
  ];

  it.each(calls)('is one %s with fifty equal answers', async (mutation, effects, call) => {
    const agent = await prepare();
    const before = { events: (await agent.events()).length, attempts: await countAttempts(agent) };
    const answers = await Promise.all(Array.from({ length: 50 }, () => call(agent, 'key-1')));
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    const events = (await agent.events()).slice(before.events);
    expect(events.map((event) => event.action.split('_')[1])).toEqual(effects);
    const asksForAnAttempt = mutation === 'promote' || mutation === 'refresh';
    expect((await countAttempts(agent)) - before.attempts).toBe(asksForAnAttempt ? 1 : 0);
  });
});

describe('a key that was used', () => {
  it('gives the first effect’s reference, as it is now', async () => {
    const agent = await prepare();
    const ask = () => requestRefresh(context, { ...agent.name, waitSeconds: 0, idempotencyKey: 'again' });
    const first = await ask();
    expect(first).toMatchObject({ state: 'QUEUED', outcome: null });
    await agent.refresh('three');
    expect(await ask()).toMatchObject({ id: first.id, state: 'DONE', outcome: 'LOADED', loadedNumber: 3 });
  });

  it('does not repeat the effect after something else has happened since', async () => {
    const agent = await prepare();
    const back = { ...agent.name, knowledgeVersion: 'v1', idempotencyKey: 'back' };
    await activateVersion(context, back);
    await activateVersion(context, { ...agent.name, knowledgeVersion: 'v2' });
    await activateVersion(context, back);
    expect(await agent.row()).toMatchObject({ activeNumber: 2, generation: 4 });
  });

  it('is CONFLICT with other arguments, and changes nothing', async () => {
    const agent = await prepare();
    const input = { ...agent.name, knowledgeVersion: 'v1', idempotencyKey: 'mine' };
    await activateVersion(context, input);
    const before = [await agent.row(), await agent.events()];
    for (const change of [
      { knowledgeVersion: 'v2' },
      { hold: true },
      { expectedActive: 'v1' },
      { reason: 'x' },
    ]) {
      await expect(activateVersion(context, { ...input, ...change })).rejects.toMatchObject({
        code: 'CONFLICT',
      });
    }
    expect([await agent.row(), await agent.events()]).toEqual(before);
  });

  it('takes an argument left out for one that is null, and waiting for no argument at all', async () => {
    const agent = await prepare();
    const input = { agentKey: agent.name.agentKey, knowledgeVersion: 'v1', idempotencyKey: 'null' };
    await activateVersion(context, input);
    await activateVersion(context, {
      ...input,
      environment: 'production', // The default one, named.
      hold: null,
      expectedActive: null,
      reason: null,
    });
    const ask = (waitSeconds: number) =>
      requestRefresh(context, { ...agent.name, waitSeconds, idempotencyKey: 'wait' });
    expect((await ask(0)).id).toBe((await ask(60)).id);
  });

  it('belongs to one actor and one mutation', async () => {
    const agent = await prepare();
    const actorId = await database.database.read((queries) => addActor(queries, 'key', 'another'));
    const another = database.context({ caller: caller(actorId, ['admin']) });
    const key = { idempotencyKey: 'shared' };
    await holdPackage(context, { ...agent.name, reason: 'One.', ...key });
    await holdPackage(another, { ...agent.name, reason: 'Two.', ...key });
    await releasePackage(context, { ...agent.name, ...key });
    expect((await agent.events()).slice(-3).map((event) => event.action.split('_')[1])).toEqual([
      'held',
      'held',
      'released',
    ]);
  });
});

describe('a failure', () => {
  it('keeps nothing: the same call may succeed later', async () => {
    const agent = await prepare();
    const input = { ...agent.name, knowledgeVersion: 'v3', expectedActive: 'v2', idempotencyKey: 'later' };
    const before = await keysKept();
    await expect(activateVersion(context, input)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await holdPackage(context, { ...agent.name, reason: 'Wait.' });
    await agent.refresh('three');
    await activateVersion(context, { ...agent.name, knowledgeVersion: 'v1' });
    await expect(activateVersion(context, input)).rejects.toMatchObject({ code: 'CONFLICT' });
    expect(await keysKept()).toBe(before);
    await activateVersion(context, { ...agent.name, knowledgeVersion: 'v2' });
    await activateVersion(context, input);
    expect(await agent.row()).toMatchObject({ activeNumber: 3 });
    expect(await keysKept()).toBe(before + 1);
  });

  it.each([
    ['empty', ''],
    ['129 characters long', 'x'.repeat(129)],
    ['not ASCII', 'schlüssel'],
    ['not printable', 'a\tb'],
  ])('is a key that is %s', async (_, idempotencyKey) => {
    const agent = looks.agent();
    await expect(
      holdPackage(context, { ...agent.name, reason: 'Wait.', idempotencyKey }),
    ).rejects.toMatchObject({ code: 'BAD_USER_INPUT' });
    expect((await agent.row()).hold).toBeNull();
  });
});

describe('the keys', () => {
  it('are kept for seven days and no longer', async () => {
    const agent = await prepare();
    const hold = (key: string) => holdPackage(context, { ...agent.name, reason: key, idempotencyKey: key });
    await hold('old');
    await hold('young');
    await database.asSuperuser((client) =>
      client.query(
        `update agent_knowledge.idempotency_key
         set created_at = now() - case key when 'old' then interval '7 days 1 minute' else interval '6 days 23 hours' end
         where key in ('old', 'young')`,
      ),
    );
    await database.database.read(forgetOldKeys);
    await hold('young');
    expect(await agent.row()).toMatchObject({ hold: { reason: 'young' } });
    await hold('old');
    expect(await agent.row()).toMatchObject({ hold: { reason: 'old' } });
  });
});
