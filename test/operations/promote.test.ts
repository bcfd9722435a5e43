import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { holdPackage } from '../../src/operations/hold-package.ts';
import { promoteVersion, type PromoteInput } from '../../src/operations/promote-version.ts';
import {
  readActiveVersion,
  readManifests,
  readVersion,
  readVersionsByChecksum,
} from '../../src/operations/read-knowledge.ts';
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

/** An agent tried in `dev`, with these contents there, and the same agent in `production`. */
async function tried(...contents: string[]): Promise<{ dev: TestAgent; production: TestAgent }> {
  const production = looks.agent();
  const dev = looks.elsewhere(production, 'dev');
  for (const text of contents) await dev.refresh(text);
  return { dev, production };
}

function promote(agent: TestAgent, input: Partial<PromoteInput> = {}, context = database.context()) {
  const { agentKey } = agent.name;
  return promoteVersion(context, {
    agentKey,
    from: 'dev',
    to: 'production',
    knowledgeVersion: 'v1',
    ...input,
  });
}

describe('a promotion', () => {
  it('is the same content under the target’s next number, active at once, and leaves the source alone', async () => {
    const { dev, production } = await tried('one', 'two');
    await production.refresh('old');
    const before = [await dev.row(), await dev.events()];
    const answer = await promote(production, { knowledgeVersion: 'v2' });
    expect(answer).toMatchObject({
      id: expect.stringMatching(/^ref_/) as string,
      state: 'DONE',
      outcome: 'LOADED',
      loadedNumber: 2,
      message: 'v2 is active in production.',
    });
    const context = database.context();
    const source = await readVersion(context, { ...dev.name, knowledgeVersion: 'v2' });
    const target = await readActiveVersion(context, production.name);
    expect(target).toMatchObject({
      number: 2,
      checksum: source.checksum,
      totalSizeBytes: 3,
      loadedBy: 'test',
    });
    const files = async (id: number) =>
      (await readManifests(context, [id])).map(({ versionId: _versionId, ...file }) => file);
    expect(await files(target.id)).toEqual(await files(source.id));
    expect(await readVersionsByChecksum(context, source.checksum)).toHaveLength(2);
    expect([await dev.row(), await dev.events()]).toEqual(before);
  });

  it('is audited as loaded, with where it came from', async () => {
    const { production } = await tried('one');
    await promote(production);
    const [event] = await production.events();
    expect(event).toMatchObject({ action: 'agent.knowledge_loaded', subject: 'v1' });
    expect(event!.details).toMatchObject({
      version: 'v1',
      number: 1,
      previousActive: null,
      activated: true,
      held: false,
      generation: 1,
      ticket: null,
      trigger: 'promote',
      promotedFrom: { environment: 'dev', version: 'v1' },
      skippedOptional: [],
    });
  });

  it('of what is active or newest there already is UNCHANGED (K-063)', async () => {
    const { production } = await tried('one', 'two');
    await promote(production);
    await promote(production, { knowledgeVersion: 'v2' });
    expect(await promote(production, { knowledgeVersion: 'v2' })).toMatchObject({
      outcome: 'UNCHANGED',
      reason: 'same_checksum',
      matchingNumber: 2,
    });
    expect((await production.events()).at(-1)!.details).toMatchObject({ matchingVersion: 'v2' });
    expect(await promote(production)).toMatchObject({ outcome: 'LOADED', loadedNumber: 3 });
    expect(await production.row()).toMatchObject({ activeNumber: 3, nextNumber: 4 });
  });

  it('into a held package, or one that is activated by hand, waits there', async () => {
    const held = await tried('one');
    await holdPackage(database.context(), { ...held.production.name, reason: 'Wait.' });
    expect(await promote(held.production)).toMatchObject({
      outcome: 'LOADED',
      message: 'v1 was stored in production and waits to be activated.',
    });
    expect(await held.production.row()).toMatchObject({ activeNumber: null, nextNumber: 2, generation: 0 });
    const manual = await tried('one');
    const context = database.context({ policy: { activate: () => 'manual' } });
    await promote(manual.production, {}, context);
    expect(await manual.production.row()).toMatchObject({ activeNumber: null, nextNumber: 2 });
  });

  it('with hold is active and holds afterwards, both of which the log says', async () => {
    const { production } = await tried('one');
    await promote(production, { hold: true, reason: 'Release 7.' });
    expect(await production.row()).toMatchObject({
      activeNumber: 1,
      hold: { cause: 'OPERATOR', reason: 'Release 7.' },
    });
    const [loaded, held] = await production.events();
    expect(loaded!.details).toMatchObject({ activated: true, held: true });
    expect(held!.action).toBe('agent.knowledge_held');
  });

  it('carries the warnings of the version it promotes', async () => {
    const { dev, production } = await tried();
    await dev.refresh({ 'core.md': 'core', 'extra-1.md': 'x' });
    await dev.refresh({ 'core.md': 'core' });
    const answer = await promote(production, { knowledgeVersion: 'v2' });
    expect(answer.warnings.map((warning) => warning.code)).toEqual(['optional_disappeared']);
    const version = await readActiveVersion(database.context(), production.name);
    expect(version.warnings).toEqual(answer.warnings);
  });

  it('to a daemon’s later look at the same content is no news', async () => {
    const { production } = await tried('one');
    await promote(production);
    expect(await production.refresh('one')).toMatchObject({ outcome: 'UNCHANGED', matchingNumber: 1 });
  });

  it.each<[string, Partial<PromoteInput>, string]>([
    ['a version that is not there', { knowledgeVersion: 'v2' }, 'NOT_FOUND'],
    ['an agent that is not there', { agentKey: 'nobody' }, 'NOT_FOUND'],
    ['an environment that is not there', { to: 'moon' }, 'NOT_FOUND'],
    ['an environment into itself', { to: 'dev' }, 'BAD_USER_INPUT'],
    ['a hold without a reason to speak of', { hold: true, reason: ' ' }, 'BAD_USER_INPUT'],
  ])('of %s is refused and leaves nothing', async (_, input, code) => {
    const { production } = await tried('one');
    await expect(promote(production, input)).rejects.toMatchObject({ code });
    expect(await production.row()).toMatchObject({ nextNumber: 1 });
    expect(await production.events()).toEqual([]);
  });

  it('needs the right to roll back only where it holds', async () => {
    const { production } = await tried('one');
    const actorId = await database.database.read((queries) => addActor(queries, 'key', 'refresher'));
    const context = database.context({ caller: caller(actorId, ['ai.knowledge.refresh']) });
    await expect(promote(production, { hold: true }, context)).rejects.toMatchObject({ code: 'FORBIDDEN' });
    expect(await promote(production, {}, context)).toMatchObject({ outcome: 'LOADED' });
  });

  it('needs both environments in the caller’s bounds', async () => {
    const { production } = await tried('one');
    for (const environment of ['dev', 'production']) {
      const bound = caller(1, ['admin'], { environments: [environment] });
      await expect(promote(production, {}, database.context({ caller: bound }))).rejects.toMatchObject({
        code: 'NOT_FOUND',
      });
    }
  });
});
