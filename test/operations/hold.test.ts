import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sha256 } from '../../src/core/checksum.ts';
import { activateVersion } from '../../src/operations/activate-version.ts';
import { holdPackage, releasePackage } from '../../src/operations/hold-package.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { openLooks, type TestAgent, type TestLooks } from '../support/looks.ts';

let database: TestDatabase;
let looks: TestLooks;
beforeAll(async () => {
  database = await createTestDatabase();
  looks = await openLooks(database);
});
afterAll(() => database[Symbol.asyncDispose]());

const hold = (agent: TestAgent, reason: string) => holdPackage(database.context(), { ...agent.name, reason });
const release = (agent: TestAgent, activateNewest?: boolean) =>
  releasePackage(database.context(), { ...agent.name, activateNewest });
const actions = async (agent: TestAgent) => (await agent.events()).map((event) => event.action.split('_')[1]);

describe('a held package', () => {
  it('goes on getting versions, and its pointer stays (F43)', async () => {
    const agent = looks.agent();
    await agent.refresh('one');
    await hold(agent, 'The board decides on Monday.');
    expect(await agent.refresh('two')).toMatchObject({
      outcome: 'LOADED',
      message: 'v2 was stored and waits to be activated.',
    });
    expect(await agent.refresh('two')).toMatchObject({ outcome: 'UNCHANGED', matchingNumber: 2 });
    expect(await agent.row()).toMatchObject({ activeNumber: 1, nextNumber: 3, generation: 1 });
    const loaded = (await agent.events()).at(-1)!;
    expect(loaded.details).toMatchObject({ version: 'v2', activated: false, held: true, generation: 1 });
    await release(agent, true);
    expect(await agent.row()).toMatchObject({ activeNumber: 2, generation: 2, hold: null });
    expect(await agent.refresh('three')).toMatchObject({ message: 'v3 is active.' });
  });

  it('is moved by a person all the same, and stays held', async () => {
    const agent = looks.agent();
    for (const text of ['one', 'two']) await agent.refresh(text);
    await hold(agent, 'Wait.');
    await activateVersion(database.context(), { ...agent.name, knowledgeVersion: 'v1' });
    expect(await agent.row()).toMatchObject({ activeNumber: 1, hold: { reason: 'Wait.' } });
  });

  it('is not held again by losing most of itself: whoever holds it will look', async () => {
    const agent = looks.agent();
    await agent.refresh('x'.repeat(5000));
    await hold(agent, 'Wait.');
    await agent.refresh('x');
    expect(await agent.row()).toMatchObject({
      activeNumber: 1,
      hold: { cause: 'OPERATOR', reason: 'Wait.' },
    });
    expect(await actions(agent)).toEqual(['loaded', 'held', 'loaded']);
  });
});

describe('a hold', () => {
  it('is audited with its cause and the hash of its reason, which is kept apart', async () => {
    const agent = looks.agent();
    await hold(agent, 'Ask Ms. Smith first.');
    const [held] = await agent.events();
    expect(held).toMatchObject({ action: 'agent.knowledge_held', subject: null });
    expect(held!.details).toEqual({ by: 'OPERATOR', reasonHash: sha256('Ask Ms. Smith first.') });
    expect(await agent.row()).toMatchObject({ hold: { reason: 'Ask Ms. Smith first.', actorName: 'test' } });
  });

  it('may get another reason; the same again is no news', async () => {
    const agent = looks.agent();
    for (const reason of ['First.', 'First.', ' First. ', 'Second.']) await hold(agent, reason);
    expect(await actions(agent)).toEqual(['held', 'held']);
    expect(await agent.row()).toMatchObject({ hold: { reason: 'Second.' } });
  });

  it('of a person takes the place of one that the program has set', async () => {
    const agent = looks.agent();
    await agent.refresh('x'.repeat(5000));
    await agent.refresh('x');
    expect(await agent.row()).toMatchObject({ hold: { cause: 'SHRANK' } });
    await hold(agent, 'I have seen it.');
    expect(await agent.row()).toMatchObject({ hold: { cause: 'OPERATOR', reason: 'I have seen it.' } });
  });

  it.each([
    ['nothing', ''],
    ['blanks alone', ' \n'],
    ['501 characters', 'x'.repeat(501)],
  ])('is refused with a reason of %s', async (_, reason) => {
    const agent = looks.agent();
    await expect(hold(agent, reason)).rejects.toMatchObject({ code: 'BAD_USER_INPUT' });
    expect((await agent.row()).hold).toBeNull();
  });
});

describe('a release', () => {
  it('ends the hold and moves nothing; the newest version is left pending', async () => {
    const agent = looks.agent();
    await agent.refresh('one');
    await hold(agent, 'Wait.');
    await agent.refresh('two');
    await release(agent);
    expect(await agent.row()).toMatchObject({ activeNumber: 1, nextNumber: 3, hold: null, generation: 1 });
    expect((await agent.events()).at(-1)!.details).toEqual({ by: 'OPERATOR', reasonHash: null });
    expect(await agent.refresh('two')).toMatchObject({ outcome: 'UNCHANGED', matchingNumber: 2 });
    expect(await agent.row()).toMatchObject({ activeNumber: 1 });
  });

  it('says first that it released and then that it moved', async () => {
    const agent = looks.agent();
    await agent.refresh('one');
    await hold(agent, 'Wait.');
    await agent.refresh('two');
    await release(agent, true);
    const [released, moved] = (await agent.events()).slice(-2);
    expect(released!.action).toBe('agent.knowledge_released');
    expect(moved).toMatchObject({ action: 'agent.knowledge_rollback', subject: 'v2' });
    expect(moved!.details).toEqual({
      from: 'v1',
      to: 'v2',
      direction: 'forward',
      held: false,
      generation: 2,
    });
  });

  it('of what is not held writes nothing, and without a version there is nothing to activate', async () => {
    const agent = looks.agent();
    await release(agent);
    await release(agent, true);
    expect(await agent.events()).toEqual([]);
    await agent.refresh('one');
    await release(agent, true);
    expect(await actions(agent)).toEqual(['loaded']);
  });
});
