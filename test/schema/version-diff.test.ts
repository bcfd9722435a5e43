import { applyPatch } from 'diff';
import { parse } from 'graphql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { maxContentBytes, maxUnifiedDiffs } from '../../schema/loaders.ts';
import { limits, priceOf } from '../../schema/price.ts';
import { schema } from '../../schema/schema.ts';
import { readVersionDiff, writeUnifiedDiffs } from '../../src/operations/read-version-diff.ts';
import { caller, createTestDatabase, type TestDatabase } from '../support/database.ts';
import { codesOf, createAsk, type Ask } from '../support/graphql.ts';
import { loadVersion, type TestFiles } from '../support/knowledge.ts';
import { recordStatements } from '../support/statements.ts';

let database: TestDatabase;
let ask: Ask;

beforeAll(async () => {
  database = await createTestDatabase();
  ask = createAsk(() => database.context());
});
afterAll(() => database[Symbol.asyncDispose]());

const everything = `from { knowledgeVersion isActive } to { knowledgeVersion isActive }
  added { relativePath loadOrder content } removed { relativePath content }
  changed { relativePath before { content checksum } after { content checksum } unified }
  renamed { from to checksum } reordered`;

async function load(agentKey: string, ...versions: readonly TestFiles[]): Promise<void> {
  for (const files of versions) await loadVersion(database, { agentKey, files });
}

function diffOf(agentKey: string, from: string, to: string, fields = everything) {
  return ask(
    `query ($a: String!, $from: String!, $to: String!) { versionDiff(agentKey: $a, from: $from, to: $to) { ${fields} } }`,
    { a: agentKey, from, to },
  );
}

/** Paths in order; a number in each content, so that all differ. */
function numberedFiles(count: number, version: number): TestFiles {
  return Object.fromEntries(
    Array.from({ length: count }, (_, n) => [
      `f${String(n).padStart(3, '0')}.md`,
      `file ${n}\nversion ${version}\n`,
    ]),
  );
}

const before = '\ufeff# Rules\r\nBe kind.\r\nAsk first.\r\n';
const after = '\ufeff# Rules\r\nBe kind.\r\nAsk twice.';

describe('versionDiff', () => {
  it('tells of files added, removed, changed and renamed, and of another order', async () => {
    await load(
      'whole',
      { 'kept.md': 'kept\n', 'rules.md': before, 'old.md': 'moves\n', 'gone.md': 'gone\n' },
      { 'rules.md': after, 'kept.md': 'kept\n', 'new.md': 'moves\n', 'come.md': 'come\n' },
    );
    const { data, errors } = await diffOf('whole', 'v1', 'v2');
    expect(errors).toBeUndefined();
    const { changed, ...rest } = data.versionDiff;
    expect(rest).toEqual({
      from: { knowledgeVersion: 'v1', isActive: false },
      to: { knowledgeVersion: 'v2', isActive: true },
      added: [{ relativePath: 'come.md', loadOrder: 4, content: 'come\n' }],
      removed: [{ relativePath: 'gone.md', content: 'gone\n' }],
      renamed: [{ from: 'old.md', to: 'new.md', checksum: expect.stringMatching(/^[0-9a-f]{64}$/) }],
      reordered: true,
    });
    expect(changed).toMatchObject([
      { relativePath: 'rules.md', before: { content: before }, after: { content: after } },
    ]);
    expect(changed[0].unified).toMatch(/^--- a\/rules\.md\tv1\n\+\+\+ b\/rules\.md\tv2\n@@ -1,3 \+1,3 @@\n/);
    expect(applyPatch(before, changed[0].unified)).toBe(after);
  });

  it('goes from the newer to the older version as well', async () => {
    await load('back', { 'a.md': 'one\n', 'b.md': 'b\n' }, { 'a.md': 'two\n' });
    const { data } = await diffOf('back', 'v2', 'v1');
    expect(data.versionDiff).toMatchObject({
      from: { knowledgeVersion: 'v2', isActive: true },
      to: { knowledgeVersion: 'v1', isActive: false },
      added: [{ relativePath: 'b.md' }],
      removed: [],
      changed: [{ unified: '--- a/a.md\tv2\n+++ b/a.md\tv1\n@@ -1,1 +1,1 @@\n-two\n+one\n' }],
    });
  });

  it('is empty between a version and itself, and between two that hold the same', async () => {
    await load('same', { 'a.md': 'one' }, { 'a.md': 'two' }, { 'a.md': 'one' });
    for (const [from, to] of [
      ['v1', 'v1'],
      ['v1', 'v3'],
    ] as const) {
      expect((await diffOf('same', from, to)).data.versionDiff).toMatchObject({
        from: { knowledgeVersion: from },
        to: { knowledgeVersion: to },
        added: [],
        removed: [],
        changed: [],
        renamed: [],
        reordered: false,
      });
    }
  });

  it('names the version that is not there, and stays within its environment', async () => {
    await load('few', { 'a.md': 'one' });
    await loadVersion(database, { agentKey: 'few', environment: 'dev', files: { 'a.md': 'dev' } });
    for (const [from, to, missing] of [
      ['v1', 'v7', 'v7'],
      ['v9', 'v1', 'v9'],
      ['v8', 'v9', 'v8'],
      ['v1', 'v01', 'v01'],
      ['', 'v1', ''],
    ] as const) {
      const answer = await diffOf('few', from, to);
      expect(codesOf(answer)).toEqual(['NOT_FOUND']);
      expect(answer.errors?.[0]?.message).toBe(`few has no version "${missing}" in production.`);
    }
    const query = `{ versionDiff(agentKey: "few", environment: "dev", from: "v1", to: "v1") { to { environment } } }`;
    expect((await ask(query)).data.versionDiff).toEqual({ to: { environment: 'dev' } });
    expect((await diffOf('nobody', 'v1', 'v2')).errors?.[0]?.message).toContain('No agent "nobody"');
  });

  it('does not exist for a key that may not see the agent (G17)', async () => {
    await load('hidden', { 'a.md': 'one' });
    const { actorId } = database.context().caller;
    const bound = database.context({ caller: caller(actorId, ['knowledge:read'], { agents: ['other'] }) });
    const query = `{ versionDiff(agentKey: "hidden", from: "v1", to: "v1") { reordered } }`;
    const answer = await ask(query, {}, { call: bound });
    expect(answer.errors?.[0]?.message).toBe('No agent "hidden" in environment "production".');
  });
});

describe('what versionDiff costs', () => {
  it('is known before it runs: 10 for each list of files, 50 for unified diffs', async () => {
    const costOf = (fields: string) =>
      priceOf(schema, {
        document: parse(`{ versionDiff(agentKey: "a", from: "v1", to: "v2") { ${fields} } }`),
      }).cost;
    expect(costOf('reordered')).toBe(1);
    expect(costOf('added { relativePath } removed { relativePath } renamed { from }')).toBe(31);
    expect(costOf('changed { unified }')).toBe(61);
    expect(costOf('changed { before { content } after { content } unified }')).toBe(163);
    expect(costOf(everything)).toBeLessThan(limits.cost / 10);
    const aliases = Array.from({ length: 100 }, (_, n) => `u${n}: unified`).join(' ');
    const query = `{ versionDiff(agentKey: "a", from: "v1", to: "v2") { changed { ${aliases} } } }`;
    expect((await ask(query)).errors?.[0]?.message).toContain('costs 5011');
  });

  it('is four statements, however many files differ', async () => {
    await load(
      'files',
      numberedFiles(40, 1),
      { ...numberedFiles(40, 1), 'f000.md': 'another\n' },
      numberedFiles(40, 2),
    );
    const statementsOf = async (to: string): Promise<number> => {
      using recording = recordStatements();
      expect((await diffOf('files', 'v1', to)).errors).toBeUndefined();
      return recording.statements.length;
    };
    const forOne = await statementsOf('v2');
    expect(await statementsOf('v3')).toBe(forOne);
    expect(forOne).toBeLessThanOrEqual(4);
    using recording = recordStatements();
    for (let n = 0; n < 5; n += 1) await diffOf('files', 'v1', 'v2');
    // One by one it would be more, so that this test can fail.
    expect(recording.statements.length).toBeGreaterThan(4);
  });

  it('reads no content where no text is asked for', async () => {
    await load('lazy_diff', { 'a.md': 'one' }, { 'a.md': 'two' });
    using recording = recordStatements();
    await diffOf('lazy_diff', 'v1', 'v2', 'changed { relativePath before { checksum } } reordered');
    expect(recording.statements.filter((statement) => statement.includes('"blob"'))).toEqual([]);
  });

  it('counts both texts of each diff as content of the answer, and is refused before any is read', async () => {
    const files = (mark: string) => ({
      'a.md': 'a'.repeat(1_000_000) + mark,
      'b.md': 'b'.repeat(1_000_000) + mark,
    });
    await load('heavy', files('1'), files('2'));
    const aliases = (count: number) => Array.from({ length: count }, (_, n) => `u${n}: unified`).join(' ');
    expect((await diffOf('heavy', 'v1', 'v2', `changed { ${aliases(1)} }`)).errors).toBeUndefined();
    using recording = recordStatements();
    const answer = await diffOf('heavy', 'v1', 'v2', `changed { ${aliases(5)} }`);
    expect(answer.data).toBeNull();
    expect(answer.errors?.[0]).toMatchObject({ extensions: { code: 'BAD_USER_INPUT', maxContentBytes } });
    expect(recording.statements.filter((statement) => statement.includes('"blob"'))).toEqual([]);
  });

  it('is bounded in how many diffs one answer computes, whatever they read (G16)', async () => {
    await load('busy', numberedFiles(70, 1), numberedFiles(70, 2));
    const twice = `a: unified b: unified`;
    expect((await diffOf('busy', 'v1', 'v2', `changed { ${twice} }`)).errors).toBeUndefined();
    using recording = recordStatements();
    const thrice = await diffOf('busy', 'v1', 'v2', `changed { ${twice} c: unified }`);
    expect(thrice.errors?.[0]).toMatchObject({ extensions: { code: 'BAD_USER_INPUT', maxUnifiedDiffs } });
    expect(recording.statements.filter((statement) => statement.includes('"blob"'))).toEqual([]);
    const one = `versionDiff(agentKey: "busy", from: "v1", to: "v2") { changed { unified } }`;
    expect(codesOf(await ask(`{ a: ${one} b: ${one} c: ${one} }`))).toContain('BAD_USER_INPUT');
  });

  it('lets others have their turn between two diffs', async () => {
    await load('long', numberedFiles(6, 1), numberedFiles(6, 2));
    const diff = await readVersionDiff(database.context(), { agentKey: 'long', from: 'v1', to: 'v2' });
    /** How often something else ran while the work did, none of which waits for anything else. */
    const turnsDuring = async (work: Promise<unknown>): Promise<number> => {
      let [turns, isDone] = [0, false];
      const take = (): void => {
        if (isDone) return;
        turns += 1;
        setImmediate(take);
      };
      setImmediate(take);
      await work;
      isDone = true;
      return turns;
    };
    const contentOf = async (file: { readonly checksum: string }) => Buffer.from(file.checksum);
    expect(await turnsDuring(writeUnifiedDiffs(diff.changed, contentOf))).toBeGreaterThanOrEqual(5);
    const left = writeUnifiedDiffs(diff.changed, contentOf, () => false);
    await expect(left).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(await turnsDuring(Promise.all(diff.changed.map(({ after }) => contentOf(after))))).toBe(0);
  });
});
