import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundleChecksum, sha256 } from '../../src/core/checksum.ts';
import type { PackageLook } from '../../src/core/look.ts';
import type { RelativePath } from '../../src/core/package.ts';
import { activateVersion } from '../../src/operations/activate-version.ts';
import {
  readActiveVersion,
  readHistory,
  readManifests,
  readVersion,
} from '../../src/operations/read-knowledge.ts';
import { awaitRefresh } from '../../src/operations/request-refresh.ts';
import { addActor } from '../../src/store/actors.ts';
import { readSourceStatus } from '../../src/store/source-status.ts';
import { caller, createTestDatabase, type TestDatabase } from '../support/database.ts';
import { lookOf, openLooks, type TestAgent, type TestLooks } from '../support/looks.ts';

let database: TestDatabase;
let looks: TestLooks;
beforeAll(async () => {
  database = await createTestDatabase();
  looks = await openLooks(database);
});
afterAll(() => database[Symbol.asyncDispose]());

/** A context of an actor of its own, who may do anything. */
async function somebody() {
  const actorId = await database.database.read((queries) => addActor(queries, 'key', 'somebody'));
  return database.context({ caller: caller(actorId, ['admin']) });
}

const actionsOf = async (agent: TestAgent) =>
  (await agent.events()).map((event) => event.action.replace('agent.knowledge_', ''));

async function statusOf(agent: TestAgent) {
  const [status] = await database.database.read((queries) => readSourceStatus(queries, [agent.name], 60_000));
  return status;
}

describe('a look at new content', () => {
  it('makes v1 active, with everything a replay needs and one event (K-034, K-076, K-078)', async () => {
    const agent = looks.agent();
    const files = { 'core.md': 'Core.\n', 'extra-2.md': '\ufeffTwo – with a mark.\n' };
    expect(await agent.refresh(files)).toMatchObject({ outcome: 'LOADED', reason: null, loadedNumber: 1 });
    const version = await readActiveVersion(database.context(), agent.name);
    const manifest = await readManifests(database.context(), [version.id]);
    const checksums = { core: sha256('Core.\n'), two: sha256('\ufeffTwo – with a mark.\n') };
    expect(manifest.map(({ versionId: _versionId, ...file }) => file)).toEqual([
      { relativePath: 'core.md', loadOrder: 1, required: true, checksum: checksums.core, sizeBytes: 6 },
      { relativePath: 'extra-2.md', loadOrder: 3, required: false, checksum: checksums.two, sizeBytes: 24 },
    ]);
    expect(version).toMatchObject({
      ...agent.name,
      number: 1,
      checksum: bundleChecksum(manifest),
      agentCode: agent.name.agentKey.toUpperCase(),
      stage: 'test',
      packageVersion: 'v01',
      registryVersion: '1.0',
      fileCount: 2,
      totalSizeBytes: 30,
      sourceType: 'local',
      loadedBy: 'looker',
      isActive: true,
      generation: 1,
      sourceStale: false,
    });
    expect(version.loadedAt.getTime()).toBeGreaterThan(Date.now() - 60_000);
    expect(await actionsOf(agent)).toEqual(['loaded']);
  });

  it('is audited with the facts of the contract’s list and no others', async () => {
    const agent = looks.agent();
    await agent.refresh({ 'core.md': 'one', 'extra-1.md': 'CANARY' });
    const opened = await agent.open();
    await agent.finish(opened, 'two', { trigger: 'request' });
    const [, event] = await agent.events();
    expect(event).toMatchObject({ ...agent.name, action: 'agent.knowledge_loaded', subject: 'v2' });
    expect(event!.details).toEqual({
      version: 'v2',
      number: 2,
      checksum: bundleChecksum([{ checksum: sha256('two'), relativePath: 'core.md' as RelativePath }]),
      previousActive: 'v1',
      activated: true,
      held: false,
      generation: 2,
      ticket: opened.ticket,
      trigger: 'request',
      registryChecksum: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
      warnings: [{ code: 'optional_disappeared', path: 'extra-1.md' }],
      skippedOptional: ['extra-1.md', 'extra-2.md', 'extra-3.md', 'extra-4.md'],
    });
    expect(JSON.stringify(await agent.events())).not.toContain('CANARY');
  });

  it('is a new version when the order of the files alone has changed (G-08)', async () => {
    const agent = looks.agent();
    const files = { 'core.md': 'one', 'extra-1.md': 'two' };
    await agent.refresh(files);
    const [core, extra, ...others] = agent.definition.files;
    const reordered = { ...agent.definition, files: [extra!, core!, ...others] };
    // Load orders are positions here: only which file comes first matters to the checksum.
    const numbered = reordered.files.map((file, index) => ({ ...file, loadOrder: index }));
    const change = { definition: { ...reordered, files: numbered } };
    expect(await agent.refresh(files, change)).toMatchObject({ outcome: 'LOADED', loadedNumber: 2 });
  });

  it('starts at v1 for every agent and every environment, each with a pointer of its own (K-009)', async () => {
    const here = looks.agent();
    const there = looks.elsewhere(here, 'staging');
    await here.refresh('one');
    await here.refresh('two');
    expect(await there.refresh('two')).toMatchObject({ outcome: 'LOADED', loadedNumber: 1 });
    await activateVersion(database.context(), { ...here.name, knowledgeVersion: 'v1' });
    expect(await here.row()).toMatchObject({ activeNumber: 1, nextNumber: 3 });
    expect(await there.row()).toMatchObject({ activeNumber: 1, nextNumber: 2, generation: 1 });
    const active = await readActiveVersion(database.context(), there.name);
    expect(active.checksum).toBe(
      (await readVersion(database.context(), { ...here.name, knowledgeVersion: 'v2' })).checksum,
    );
  });
});

describe('a look at content that is active or newest', () => {
  it('appends nothing and moves nothing, also after a rollback, until content is new (K-061…K-064, G-07, R3)', async () => {
    const agent = looks.agent();
    for (const text of ['one', 'two', 'three']) await agent.refresh(text);
    await activateVersion(database.context(), { ...agent.name, knowledgeVersion: 'v1' });
    for (let look = 1; look <= 5; look += 1) {
      expect(await agent.refresh('three')).toMatchObject({
        outcome: 'UNCHANGED',
        reason: 'same_checksum',
        matchingNumber: 3,
        loadedNumber: null,
      });
    }
    expect(await agent.refresh('one')).toMatchObject({ outcome: 'UNCHANGED', matchingNumber: 1 });
    expect(await agent.row()).toMatchObject({ activeNumber: 1, nextNumber: 4 });
    expect(await agent.refresh('four')).toMatchObject({ outcome: 'LOADED', loadedNumber: 4 });
    expect(await agent.row()).toMatchObject({ activeNumber: 4, generation: 5 });
    const { rows } = await readHistory(database.context(), agent.name, {});
    expect(rows.map((version) => [version.number, version.isActive])).toEqual([
      [4, true],
      [3, false],
      [2, false],
      [1, false],
    ]);
  });

  it('is a new version when it is neither, though it was stored before: numbers are never reused (K-062)', async () => {
    const agent = looks.agent();
    for (const text of ['one', 'two', 'three']) await agent.refresh(text);
    expect(await agent.refresh('one')).toMatchObject({ outcome: 'LOADED', loadedNumber: 4 });
    const versions = (await readHistory(database.context(), agent.name, {})).rows;
    expect(versions[0]!.checksum).toBe(versions[3]!.checksum);
  });

  it('is unchanged when flags and labels alone have changed; the version keeps its own', async () => {
    const agent = looks.agent();
    await agent.refresh('one');
    const files = agent.definition.files.map((file) => ({
      ...file,
      required: file.relativePath === 'core.md',
    }));
    const definition = { ...agent.definition, files, stage: 'other', packageVersion: 'v77' };
    expect(await agent.refresh('one', { definition })).toMatchObject({
      outcome: 'UNCHANGED',
      matchingNumber: 1,
    });
    expect(await readActiveVersion(database.context(), agent.name)).toMatchObject({
      stage: 'test',
      packageVersion: 'v01',
    });
  });
});

describe('a look that finds something wrong', () => {
  const failures: [what: string, look: (agent: TestAgent) => PackageLook, outcome: string, reason: string][] =
    [
      [
        'a missing required file (K-080)',
        (a) => lookOf(a.definition.files, {}),
        'FAILED',
        'missing_required',
      ],
      [
        'an empty required file (K-080)',
        (a) => lookOf(a.definition.files, ' \n'),
        'FAILED',
        'empty_required',
      ],
      [
        'a root that is gone (K-081)',
        () => ({ root: 'trouble', code: 'root_missing', message: 'The root is gone.' }),
        'FAILED',
        'root_missing',
      ],
      [
        'a script in the content (K-082, K-089)',
        (a) => lookOf(a.definition.files, 'Text <script>SECRET-BODY</script>'),
        'VALIDATION_FAILED',
        'script_markup',
      ],
    ];
  it.each(failures)('keeps the active version: %s', async (_, lookAt, outcome, reason) => {
    const agent = looks.agent();
    await agent.refresh('good');
    const before = await agent.row();
    const result = await agent.refresh('', { look: lookAt(agent) });
    expect(result).toMatchObject({ outcome, reason, loadedNumber: null, matchingNumber: null });
    expect(result.faults[0]!.code).toBe(reason);
    const { lastTicket: _ticket, ...after } = await agent.row();
    expect(before).toMatchObject(after);
    const event = (await agent.events()).at(-1)!;
    expect(event.action).toBe(`agent.knowledge_${outcome.toLowerCase()}`);
    expect(event.details).toEqual({
      reason,
      findings: result.faults.map(({ code, relativePath, line }) => ({ code, path: relativePath, line })),
      registryChecksum: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
    });
    expect(JSON.stringify(event)).not.toContain('SECRET-BODY');
    expect(await readActiveVersion(database.context(), agent.name)).toMatchObject({
      number: 1,
      sourceStale: true,
    });
    await agent.refresh('good');
    expect(await readActiveVersion(database.context(), agent.name)).toMatchObject({ sourceStale: false });
  });

  it('is told once as long as it stays, and again when reason, path or file is another', async () => {
    const agent = looks.agent();
    const nothing = lookOf(agent.definition.files, {});
    const told = async (look: PackageLook) => {
      const before = (await agent.events()).length;
      await agent.refresh('', { look });
      return (await agent.events()).length - before;
    };
    expect(await told(nothing)).toBe(1);
    expect(await told(nothing)).toBe(0);
    expect(await told(lookOf(agent.definition.files, '<script>'))).toBe(1);
    expect(await told(lookOf(agent.definition.files, '<script>'))).toBe(0);
    expect(await told(lookOf(agent.definition.files, '<script> another file'))).toBe(1);
    expect(await told(nothing)).toBe(1);
  });

  it('is told again after another event of the package, not after a look that told nothing', async () => {
    const agent = looks.agent();
    await agent.refresh('good');
    const fail = () => agent.refresh({});
    await fail();
    await agent.refresh('good'); // Unchanged, and nobody asked: no event.
    await fail();
    expect(await actionsOf(agent)).toEqual(['loaded', 'failed']);
    await agent.refresh('better');
    await fail();
    expect(await actionsOf(agent)).toEqual(['loaded', 'failed', 'loaded', 'failed']);
  });
});

describe('a refresh somebody asked for', () => {
  it('is answered by the first look that begins after it, with an event for each actor who asked', async () => {
    const agent = looks.agent();
    const [anna, ben] = [await somebody(), await somebody()];
    await agent.refresh('one');
    const asked = [await agent.ask(anna), await agent.ask(anna), await agent.ask(ben)];
    const opened = await agent.open();
    const late = await agent.ask(ben);
    await agent.finish(opened, 'one', { trigger: 'request' });
    for (const { id } of asked) {
      expect(await awaitRefresh(anna, id, 0)).toMatchObject({
        state: 'DONE',
        outcome: 'UNCHANGED',
        matchingNumber: 1,
      });
    }
    expect(await awaitRefresh(anna, late.id, 0)).toMatchObject({ state: 'QUEUED', outcome: null });
    const unchanged = (await agent.events()).filter((event) => event.action === 'agent.knowledge_unchanged');
    expect(unchanged.map((event) => event.actorRef)).toEqual(
      [anna, ben].map((context) => `key:${context.caller.actorId}`),
    );
    const active = await readActiveVersion(anna, agent.name);
    expect(unchanged[0]!.details).toEqual({ matchingVersion: 'v1', checksum: active.checksum });
  });

  it('is audited every time it fails, for whoever asked, and not for the looker', async () => {
    const agent = looks.agent();
    const anna = await somebody();
    for (let time = 1; time <= 2; time += 1) {
      await agent.ask(anna);
      await agent.refresh({});
    }
    expect((await agent.events()).map((event) => [event.action, event.actorRef])).toEqual([
      ['agent.knowledge_failed', `key:${anna.caller.actorId}`],
      ['agent.knowledge_failed', `key:${anna.caller.actorId}`],
    ]);
  });

  it('makes a version in the name of the one who asked first', async () => {
    const agent = looks.agent();
    const anna = await somebody();
    await agent.ask(anna);
    await agent.ask(await somebody());
    await agent.refresh('one');
    const [event] = await agent.events();
    expect(event!.actorRef).toBe(`key:${anna.caller.actorId}`);
    expect(await readActiveVersion(anna, agent.name)).toMatchObject({ loadedById: anna.caller.actorId });
  });
});

describe('a look that a newer one has overtaken (F6, G10)', () => {
  it('is SUPERSEDED and writes nothing but its answer', async () => {
    const agent = looks.agent();
    await agent.refresh('a');
    const asked = await agent.ask(await somebody());
    const slow = await agent.open();
    const quick = await agent.open();
    expect(await agent.finish(quick, 'c')).toMatchObject({ outcome: 'LOADED', loadedNumber: 2 });
    const before = [await agent.row(), await agent.events(), await statusOf(agent)];
    expect(await agent.finish(slow, 'b')).toMatchObject({ outcome: 'SUPERSEDED', loadedNumber: null });
    expect([await agent.row(), await agent.events(), await statusOf(agent)]).toEqual(before);
    expect(await awaitRefresh(database.context(), asked.id, 0)).toMatchObject({
      state: 'DONE',
      outcome: 'SUPERSEDED',
    });
  });

  it('is overtaken by a look that failed, too: it has seen the source later', async () => {
    const agent = looks.agent();
    await agent.refresh('a');
    const slow = await agent.open();
    await agent.refresh({});
    expect(await agent.finish(slow, 'b')).toMatchObject({ outcome: 'SUPERSEDED' });
    expect(await agent.row()).toMatchObject({ activeNumber: 1, nextNumber: 2 });
  });

  it('would win were its ticket drawn after the look: the control', async () => {
    const agent = looks.agent();
    await agent.refresh('a');
    const slow = await agent.open();
    await agent.refresh('c');
    const { ticket } = await agent.open();
    expect(await agent.finish({ ...slow, ticket }, 'b')).toMatchObject({
      outcome: 'LOADED',
      loadedNumber: 3,
    });
  });
});

describe('a package that loses most of itself', () => {
  const five = {
    'core.md': 'core',
    'extra-1.md': '1',
    'extra-2.md': '2',
    'extra-3.md': '3',
    'extra-4.md': '4',
  };
  const two = { 'core.md': 'core', 'extra-1.md': '1' };

  it('gets its version, keeps its pointer and is held: more than half of the files (F52)', async () => {
    const agent = looks.agent();
    await agent.refresh(five);
    const result = await agent.refresh(two);
    expect(result).toMatchObject({ outcome: 'LOADED', loadedNumber: 2 });
    expect(result.warnings.map((warning) => warning.code)).toEqual(Array(3).fill('optional_disappeared'));
    expect(await agent.row()).toMatchObject({
      activeNumber: 1,
      nextNumber: 3,
      generation: 1,
      hold: { cause: 'SHRANK', reason: '3 of 5 files of v1 are gone.', actorName: 'looker' },
    });
    const [, loaded, held] = await agent.events();
    expect(loaded!.details).toMatchObject({ activated: false, held: true, generation: 1 });
    expect(held).toMatchObject({ action: 'agent.knowledge_held', subject: null });
    expect(held!.details).toEqual({ by: 'SHRANK', reasonHash: sha256('3 of 5 files of v1 are gone.') });
  });

  it('is not held at half of the files, nor when somebody has said that the loss is meant, nor when told not to', async () => {
    const half = looks.agent();
    await half.refresh({ ...two, 'extra-2.md': '2', 'extra-3.md': '3' });
    await half.refresh(two);
    const accepted = looks.agent();
    await accepted.refresh(five);
    await accepted.ask(await somebody(), { acceptShrink: true });
    await accepted.refresh(two);
    const off = looks.agent();
    await off.refresh(five);
    await off.refresh(two, { context: database.context({ policy: { shrinkHold: false } }) });
    for (const agent of [half, accepted, off])
      expect(await agent.row()).toMatchObject({ hold: null, activeNumber: 2 });
  });

  it('is held for more than half of its bytes above 4 KiB, and not for what the registry no longer lists', async () => {
    const shrunk = looks.agent();
    await shrunk.refresh('x'.repeat(5000));
    await shrunk.refresh('x'.repeat(2499));
    expect(await shrunk.row()).toMatchObject({ hold: { cause: 'SHRANK' }, activeNumber: 1 });
    const edited = looks.agent();
    await edited.refresh('x'.repeat(4096));
    await edited.refresh('x');
    expect(await edited.row()).toMatchObject({ hold: null, activeNumber: 2 });
    const unlisted = looks.agent();
    await unlisted.refresh(five);
    const files = unlisted.definition.files.slice(0, 2);
    await unlisted.refresh(two, { definition: { ...unlisted.definition, files } });
    expect(await unlisted.row()).toMatchObject({ hold: null, activeNumber: 2 });
  });
});

describe('policies', () => {
  it('with MAX_VERSIONS_PER_HOUR the version past the limit is stored, and the package held (T42)', async () => {
    const agent = looks.agent();
    const context = database.context({ policy: { maxVersionsPerHour: 2 } });
    for (const text of ['1', '2', '3', '4']) await agent.refresh(text, { context });
    expect(await agent.row()).toMatchObject({ activeNumber: 2, nextNumber: 5, hold: { cause: 'RATE' } });
    expect(await actionsOf(agent)).toEqual(['loaded', 'loaded', 'loaded', 'held', 'loaded']);
    const later = database.context({
      policy: { maxVersionsPerHour: 2 },
      clock: () => new Date(Date.now() + 3_601_000),
    });
    const other = looks.agent();
    for (const text of ['1', '2', '3']) await other.refresh(text, { context: later });
    expect(await other.row()).toMatchObject({ hold: null, activeNumber: 3 });
  });

  it('with ACTIVATE=manual a version is stored and waits, the first one too', async () => {
    const agent = looks.agent();
    const context = database.context({
      policy: { activate: (name) => (name === 'production' ? 'manual' : 'auto') },
    });
    expect(await agent.refresh('one', { context })).toMatchObject({
      outcome: 'LOADED',
      message: 'v1 was stored and waits to be activated.',
    });
    expect(await agent.row()).toMatchObject({ activeNumber: null, generation: 0, hold: null });
    expect((await agent.events())[0]!.details).toMatchObject({
      activated: false,
      held: false,
      previousActive: null,
    });
    await activateVersion(context, { ...agent.name, knowledgeVersion: 'v1' });
    await agent.refresh('two', { context });
    expect(await agent.row()).toMatchObject({ activeNumber: 1, nextNumber: 3 });
    const elsewhere = looks.elsewhere(agent, 'dev');
    await elsewhere.refresh('one', { context });
    expect(await elsewhere.row()).toMatchObject({ activeNumber: 1 });
  });
});
