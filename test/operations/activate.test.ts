import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sha256 } from '../../src/core/checksum.ts';
import type { Scope } from '../../src/core/permissions.ts';
import { activateVersion, type ActivateInput } from '../../src/operations/activate-version.ts';
import type { CallContext } from '../../src/operations/context.ts';
import { holdPackage, releasePackage } from '../../src/operations/hold-package.ts';
import { promoteVersion } from '../../src/operations/promote-version.ts';
import { readActiveVersion, readHistory, readVersion } from '../../src/operations/read-knowledge.ts';
import { requestRefresh } from '../../src/operations/request-refresh.ts';
import { addActor } from '../../src/store/actors.ts';
import { caller, createTestDatabase, type TestDatabase } from '../support/database.ts';
import { openLooks, type TestAgent, type TestLooks } from '../support/looks.ts';

let database: TestDatabase;
let looks: TestLooks;
beforeAll(async () => {
  database = await createTestDatabase();
  looks = await openLooks(database);
});
afterAll(() => database[Symbol.asyncDispose]());

/** An agent with versions v1… of these contents, the last one active. */
async function agentWith(...contents: string[]): Promise<TestAgent> {
  const agent = looks.agent();
  for (const text of contents) await agent.refresh(text);
  return agent;
}

function activate(agent: TestAgent, input: Partial<ActivateInput>, context = database.context()) {
  return activateVersion(context, { ...agent.name, knowledgeVersion: 'v1', ...input });
}

async function actor(
  scopes: readonly Scope[] = ['admin'],
  change: Parameters<TestDatabase['context']>[0] = {},
) {
  const actorId = await database.database.read((queries) => addActor(queries, 'key', 'somebody'));
  return database.context({ caller: caller(actorId, scopes), ...change });
}

const actions = async (agent: TestAgent) => (await agent.events()).map((event) => event.action.split('_')[1]);

describe('activating a version', () => {
  it('moves the pointer and the generation, and nothing else anywhere (K-066, K-068, K-069)', async () => {
    const agent = await agentWith('one', 'two', 'three');
    const elsewhere = looks.elsewhere(agent, 'staging');
    await elsewhere.refresh('three');
    const snapshot = async () => ({
      versions: (await readHistory(database.context(), agent.name, {})).rows.map(
        ({ isActive: _active, generation: _generation, ...version }) => version,
      ),
      elsewhere: [await elsewhere.row(), await elsewhere.events()],
    });
    const [before, row] = [await snapshot(), await agent.row()];
    await activate(agent, { knowledgeVersion: 'v1' });
    expect(await snapshot()).toEqual(before);
    expect(await agent.row()).toEqual({ ...row, activeNumber: 1, generation: 4 });
    const active = await readActiveVersion(database.context(), agent.name);
    expect(active).toMatchObject({ number: 1, isActive: true });
    const superseded = await readVersion(database.context(), { ...agent.name, knowledgeVersion: 'v3' });
    expect(superseded).toMatchObject({ number: 3, isActive: false, generation: 4 });
  });

  it('is audited as a rollback with its direction, back and forward (K-070)', async () => {
    const agent = await agentWith('one', 'two', 'three');
    const anna = await actor();
    await activate(agent, { knowledgeVersion: 'v1' }, anna);
    await activate(agent, { knowledgeVersion: 'v2' }, anna);
    const [back, forward] = (await agent.events()).slice(-2);
    expect(back).toMatchObject({
      action: 'agent.knowledge_rollback',
      subject: 'v1',
      actorRef: `key:${anna.caller.actorId}`,
      ...agent.name,
    });
    expect(back!.details).toEqual({ from: 'v3', to: 'v1', direction: 'back', held: false, generation: 4 });
    expect(forward!.details).toEqual({
      from: 'v1',
      to: 'v2',
      direction: 'forward',
      held: false,
      generation: 5,
    });
  });

  it('of the active one writes nothing at all (G-14)', async () => {
    const agent = await agentWith('one', 'two');
    const before = [await agent.row(), await agent.events()];
    await activate(agent, { knowledgeVersion: 'v2' });
    await activate(agent, { knowledgeVersion: 'v2', expectedActive: 'v2' });
    expect([await agent.row(), await agent.events()]).toEqual(before);
  });

  it('is refused where the caller believes something else to be active, naming what is (F44)', async () => {
    const agent = await agentWith('one', 'two');
    const before = [await agent.row(), await agent.events()];
    await expect(activate(agent, { expectedActive: 'v1' })).rejects.toMatchObject({
      code: 'CONFLICT',
      message: 'Expected v1 to be active; v2 is. Nothing was changed.',
      details: { current: 'v2' },
    });
    await expect(activate(agent, { expectedActive: 'newest' })).rejects.toMatchObject({
      code: 'BAD_USER_INPUT',
    });
    expect([await agent.row(), await agent.events()]).toEqual(before);
    await activate(agent, { expectedActive: 'v2' });
    const waiting = looks.agent();
    await waiting.refresh('one', { context: database.context({ policy: { activate: () => 'manual' } }) });
    await expect(activate(waiting, { expectedActive: 'v1' })).rejects.toMatchObject({
      code: 'CONFLICT',
      details: { current: null },
    });
  });

  it('lets one of two with the same belief win; the other is told the winner’s version (F44)', async () => {
    const agent = await agentWith('one', 'two', 'three');
    const wishes = ['v1', 'v2'].map((knowledgeVersion) =>
      activate(agent, { knowledgeVersion, expectedActive: 'v3' }),
    );
    const [won, lost] = (await Promise.allSettled(wishes)).toSorted((a, b) => (a.status < b.status ? -1 : 1));
    const { activeNumber, generation } = await agent.row();
    expect(won!.status).toBe('fulfilled');
    expect(lost).toMatchObject({ reason: { code: 'CONFLICT', details: { current: `v${activeNumber}` } } });
    expect(generation).toBe(4);
  });

  it.each(['v9', 'v0', 'v01', 'V1', '1', 'v1 ', 'v1.0', 'v-1', 'v1e1', 'v99999999999', 'runtime', '', 'vv1'])(
    'that is not there, %j, is NOT_FOUND (K-048)',
    async (knowledgeVersion) => {
      const agent = await agentWith('one');
      await expect(activate(agent, { knowledgeVersion })).rejects.toMatchObject({ code: 'NOT_FOUND' });
    },
  );

  it('counts one generation for each move, however it came about', async () => {
    const agent = await agentWith('one', 'two');
    await activate(agent, { knowledgeVersion: 'v1' });
    await activate(agent, { knowledgeVersion: 'v1' });
    await agent.refresh('two');
    await agent.refresh('three');
    await activate(agent, { knowledgeVersion: 'v2', hold: true });
    await agent.refresh('four');
    await releasePackage(database.context(), { ...agent.name, activateNewest: true });
    const moves = (await agent.events()).filter(
      ({ action, details }) =>
        action === 'agent.knowledge_rollback' ||
        (action === 'agent.knowledge_loaded' && details['activated'] === true),
    );
    expect(moves.map((event) => event.details['generation'])).toEqual([1, 2, 3, 4, 5, 6]);
    expect(await agent.row()).toMatchObject({ generation: 6, activeNumber: 4 });
  });
});

describe('the hold of an activation', () => {
  it('stays as it is when nothing is said', async () => {
    const agent = await agentWith('one', 'two');
    await activate(agent, {});
    expect((await agent.row()).hold).toBeNull();
    await holdPackage(database.context(), { ...agent.name, reason: 'Wait.' });
    await activate(agent, { knowledgeVersion: 'v2' });
    expect(await agent.row()).toMatchObject({
      activeNumber: 2,
      hold: { cause: 'OPERATOR', reason: 'Wait.' },
    });
    expect((await agent.events()).at(-1)!.details).toMatchObject({ to: 'v2', held: true });
  });

  it('is set with the pointer move when asked for; the log has the reason’s hash and nothing else of it', async () => {
    const agent = await agentWith('one', 'two');
    const anna = await actor();
    await activate(agent, { hold: true, reason: '  v2 was wrong about Ms. Smith.  ' }, anna);
    const reason = 'v2 was wrong about Ms. Smith.';
    expect(await agent.row()).toMatchObject({
      activeNumber: 1,
      hold: { cause: 'OPERATOR', actorId: anna.caller.actorId, reason },
    });
    expect(await actions(agent)).toEqual(['loaded', 'loaded', 'rollback', 'held']);
    const [rollback, held] = (await agent.events()).slice(-2);
    expect(rollback!.details).toMatchObject({ held: true });
    expect(held!.details).toEqual({ by: 'OPERATOR', reasonHash: sha256(reason) });
    expect(JSON.stringify(await agent.events())).not.toContain('Smith');
    // A person's words can be erased; the fact and its hash stay.
    await database.database.read((queries) =>
      queries.deleteFrom('remark').where('hash', '=', sha256(reason)).execute(),
    );
    expect(await agent.row()).toMatchObject({ hold: { cause: 'OPERATOR', reason: null } });
  });

  it('is set without a move when the version is active already, and ended by false', async () => {
    const agent = await agentWith('one');
    await activate(agent, { hold: true });
    expect(await actions(agent)).toEqual(['loaded', 'held']);
    expect(await agent.row()).toMatchObject({
      hold: { reason: 'Held with the activation of v1.' },
      generation: 1,
    });
    await activate(agent, { hold: true });
    await activate(agent, { hold: false });
    await activate(agent, { hold: false });
    expect(await actions(agent)).toEqual(['loaded', 'held', 'released']);
    expect((await agent.row()).hold).toBeNull();
  });

  it('follows a rollback by itself with HOLD_ON_ROLLBACK, unless told otherwise, and never a step forward', async () => {
    const context = database.context({ policy: { holdOnRollback: true } });
    const agent = await agentWith('one', 'two');
    await activate(agent, { knowledgeVersion: 'v1', hold: false }, context);
    expect((await agent.row()).hold).toBeNull();
    await activate(agent, { knowledgeVersion: 'v2' }, context);
    expect((await agent.row()).hold).toBeNull();
    await activate(agent, { knowledgeVersion: 'v1' }, context);
    expect(await agent.row()).toMatchObject({ hold: { cause: 'OPERATOR' } });
    await agent.refresh('three');
    expect(await agent.row()).toMatchObject({ activeNumber: 1, nextNumber: 4 });
  });

  it.each([
    ['nothing', ''],
    ['blanks alone', '   '],
    ['501 characters', 'x'.repeat(501)],
  ])('is refused with a reason of %s', async (_, reason) => {
    const agent = await agentWith('one');
    await expect(activate(agent, { hold: true, reason })).rejects.toMatchObject({ code: 'BAD_USER_INPUT' });
  });
});

describe('where a second person is needed (SECOND_PERSON)', () => {
  const policy = { secondPersonEnvironments: ['production'], activate: () => 'manual' as const };

  it('who refreshed a version may not activate it, by no way there is; another may', async () => {
    const agent = looks.agent();
    const anna = await actor(['admin'], { policy });
    const ben = await actor(['admin'], { policy });
    await requestRefresh(anna, { ...agent.name, waitSeconds: 0 });
    await agent.refresh('one', { context: anna });
    const forbidden = { code: 'FORBIDDEN', message: expect.stringContaining('a second person') as string };
    await expect(activate(agent, {}, anna)).rejects.toMatchObject(forbidden);
    await holdPackage(anna, { ...agent.name, reason: 'Wait.' });
    const release = { ...agent.name, activateNewest: true };
    await expect(releasePackage(anna, release)).rejects.toMatchObject(forbidden);
    expect(await agent.row()).toMatchObject({ activeNumber: null, hold: { cause: 'OPERATOR' } });
    await releasePackage(ben, release);
    expect(await agent.row()).toMatchObject({ activeNumber: 1, hold: null });
    await activate(agent, {}, anna); // Active already: nothing moves, so nothing is forbidden.
  });

  it('who promoted it may not either; other environments do not care', async () => {
    const agent = looks.agent();
    const dev = looks.elsewhere(agent, 'dev');
    const anna = await actor(['admin'], { policy });
    await requestRefresh(anna, { ...dev.name, waitSeconds: 0 });
    await dev.refresh('one', { context: anna });
    await activate(dev, {}, anna);
    await promoteVersion(anna, {
      agentKey: agent.name.agentKey,
      from: 'dev',
      to: 'production',
      knowledgeVersion: 'v1',
    });
    await expect(activate(agent, {}, anna)).rejects.toMatchObject({ code: 'FORBIDDEN' });
    await activate(agent, {}, await actor(['admin'], { policy }));
    expect(await agent.row()).toMatchObject({ activeNumber: 1 });
  });
});

describe('who may do what', () => {
  const mutations: [
    name: string,
    scope: Scope,
    call: (context: CallContext, agent: TestAgent) => Promise<unknown>,
  ][] = [
    ['activate', 'ai.knowledge.rollback', (context, agent) => activate(agent, {}, context)],
    [
      'hold',
      'ai.knowledge.rollback',
      (context, { name }) => holdPackage(context, { ...name, reason: 'Wait.' }),
    ],
    ['release', 'ai.knowledge.rollback', (context, { name }) => releasePackage(context, name)],
    [
      'refresh',
      'ai.knowledge.refresh',
      (context, { name }) => requestRefresh(context, { ...name, waitSeconds: 0 }),
    ],
    [
      'promote',
      'ai.knowledge.refresh',
      (context, { name }) =>
        promoteVersion(context, {
          agentKey: name.agentKey,
          from: 'production',
          to: 'dev',
          knowledgeVersion: 'v1',
        }),
    ],
    ['activeVersion', 'knowledge:read', (context, { name }) => readActiveVersion(context, name)],
    ['versions', 'knowledge:read', (context, { name }) => readHistory(context, name, {})],
  ];
  const scopes: Scope[] = ['knowledge:read', 'runs:write', 'ai.knowledge.refresh', 'ai.knowledge.rollback'];

  it.each(mutations)(
    '%s needs %s or admin, and nothing else will do (K-067, K-077, T46)',
    async (_, needed, call) => {
      const agent = await agentWith('one');
      for (const scope of scopes.filter((scope) => scope !== needed)) {
        await expect(call(await actor([scope]), agent)).rejects.toMatchObject({ code: 'FORBIDDEN' });
      }
      await call(await actor([needed]), agent);
      await call(await actor(['admin']), agent);
    },
  );

  it.each(mutations)(
    '%s says of a foreign package what it says of one that is not there (T22)',
    async (_, scope, call) => {
      const agent = await agentWith('one');
      const absent = { ...agent, name: { ...agent.name, agentKey: 'nobody' } };
      const said = async (target: TestAgent, bounds: Parameters<typeof caller>[2]) => {
        const context = database.context({ caller: caller(1, [scope], bounds) });
        const error = await call(context, target).then(
          () => null,
          (refusal: unknown) => refusal,
        );
        const { code, message, details } = error as { code: string; message: string; details: unknown };
        return { code, details, message: message.replaceAll(target.name.agentKey, '…') };
      };
      for (const bounds of [{ agents: ['another'] }, { environments: ['staging'] }]) {
        const foreign = await said(agent, bounds);
        expect(foreign.code).toBe('NOT_FOUND');
        expect(await said(absent, bounds)).toEqual(foreign);
      }
    },
  );
});
