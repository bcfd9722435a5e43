import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundleChecksum } from '../../src/core/checksum.ts';
import { maxContentBytes } from '../../schema/loaders.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { codesOf, createAsk, type Ask } from '../support/graphql.ts';
import { loadVersion, lookAt, registerAgent } from '../support/knowledge.ts';
import { recordStatements, type StatementRecording } from '../support/statements.ts';

let database: TestDatabase;
let ask: Ask;

beforeAll(async () => {
  database = await createTestDatabase();
  ask = createAsk(() => database.context());
});
afterAll(() => database[Symbol.asyncDispose]());

const everyField = `packageId agentKey environment agentCode stage knowledgeVersion packageVersion registryVersion checksum
  fileCount totalSizeBytes sourceType status isActive loadedAt loadedBy sourceStale generation
  warnings { code relativePath line message }
  files { relativePath loadOrder required checksum sizeBytes content }`;

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

describe('activeVersion', () => {
  it('gives every field of the version that agents are given', async () => {
    await loadVersion(database, { agentKey: 'every_field', files: { 'b.md': 'Bé\n', 'a.md': '# A\n' } });
    const { data, errors } = await ask(`{ activeVersion(agentKey: "every_field") { ${everyField} } }`);
    expect(errors).toBeUndefined();
    const files = [
      {
        relativePath: 'b.md',
        loadOrder: 1,
        required: true,
        checksum: sha256('Bé\n'),
        sizeBytes: 4,
        content: 'Bé\n',
      },
      {
        relativePath: 'a.md',
        loadOrder: 2,
        required: true,
        checksum: sha256('# A\n'),
        sizeBytes: 4,
        content: '# A\n',
      },
    ];
    expect(data.activeVersion).toEqual({
      packageId: expect.any(Number),
      agentKey: 'every_field',
      environment: 'production',
      agentCode: 'CODE-every_field',
      stage: 'Testing',
      knowledgeVersion: 'v1',
      packageVersion: 'v01',
      registryVersion: '1.0',
      checksum: bundleChecksum(files as never),
      fileCount: 2,
      totalSizeBytes: 8,
      sourceType: 'local',
      status: 'ACTIVE',
      isActive: true,
      loadedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      loadedBy: 'test',
      sourceStale: false,
      generation: 1,
      warnings: [],
      files,
    });
  });

  it('refuses an agent without an active version, in words that say not to run it', async () => {
    await registerAgent(database, { agentKey: 'empty', files: { 'a.md': '' } });
    const answer = await ask(`{ activeVersion(agentKey: "empty") { knowledgeVersion } }`);
    expect(answer.data).toBeNull();
    expect(codesOf(answer)).toEqual(['NOT_FOUND']);
    expect(answer.errors?.[0]?.message).toContain('do not run the agent');
  });

  it('is a conflict where the caller has seen a newer generation than this database has', async () => {
    await loadVersion(database, { agentKey: 'generations', files: { 'a.md': 'one' } });
    const query = `query ($least: Int) { activeVersion(agentKey: "generations", minGeneration: $least) { generation } }`;
    expect((await ask(query, { least: 1 })).data).toEqual({ activeVersion: { generation: 1 } });
    const answer = await ask(query, { least: 2 });
    expect(answer.errors).toMatchObject([{ extensions: { code: 'CONFLICT', current: 'v1', generation: 1 } }]);
  });

  it('is of the environment asked for and of no other', async () => {
    await loadVersion(database, { agentKey: 'apart', environment: 'staging', files: { 'a.md': 'staging' } });
    const { data, errors } = await ask(`{
      staging: activeVersion(agentKey: "apart", environment: "staging") { environment files { content } }
    }`);
    expect(errors).toBeUndefined();
    expect(data.staging).toEqual({ environment: 'staging', files: [{ content: 'staging' }] });
    expect(codesOf(await ask(`{ activeVersion(agentKey: "apart") { environment } }`))).toEqual(['NOT_FOUND']);
    const unknown = await ask(`{ activeVersion(agentKey: "apart", environment: "moon") { environment } }`);
    expect(codesOf(unknown)).toEqual(['NOT_FOUND']);
  });
});

function blobReads({ statements }: StatementRecording): number {
  return statements.filter((statement) => statement.includes('"blob"')).length;
}

describe('content', () => {
  const texts = {
    'bom.md': '\uFEFF# With a mark\n',
    'crlf.md': 'one\r\ntwo\rthree\n',
    'arabic.md': 'مرحبا بالعالم\n',
    'emoji.md': 'family 👩‍👩‍👧‍👦, flag 🇨🇭, combining e\u0301\n',
    'quotes.md': '"quoted" \\ and \u2028 and \u{10FFFF}\n',
  };

  it('gives the exact bytes again when it is encoded', async () => {
    await loadVersion(database, { agentKey: 'exact', files: texts });
    const { data } = await ask(
      `{ activeVersion(agentKey: "exact") { files { relativePath checksum sizeBytes content } } }`,
    );
    for (const file of data.activeVersion.files) {
      const expected = texts[file.relativePath as keyof typeof texts];
      expect(file.content).toBe(expected);
      expect(Buffer.byteLength(file.content)).toBe(file.sizeBytes);
      expect(sha256(file.content)).toBe(file.checksum);
    }
    expect(data.activeVersion.files).toHaveLength(5);
  });

  it('is not read where it is not asked for', async () => {
    await loadVersion(database, { agentKey: 'lazy', files: { 'a.md': 'one' } });
    using recording = recordStatements();
    await ask(`{ activeVersion(agentKey: "lazy") { files { relativePath checksum sizeBytes } } }`);
    expect(blobReads(recording)).toBe(0);
    await ask(`{ activeVersion(agentKey: "lazy") { files { content } } }`);
    expect(blobReads(recording)).toBe(1);
  });

  it('is refused by its size before anything is read', async () => {
    await loadVersion(database, { agentKey: 'large', files: { 'a.md': 'x'.repeat(1_000_000) } });
    using recording = recordStatements();
    const contents = Array.from({ length: 17 }, (_, index) => `c${index}: content`).join(' ');
    const answer = await ask(`{ activeVersion(agentKey: "large") { files { ${contents} } } }`);
    expect(answer.data).toBeNull();
    expect(answer.errors?.[0]).toMatchObject({ extensions: { code: 'BAD_USER_INPUT', maxContentBytes } });
    expect(blobReads(recording)).toBe(0);
  });
});

describe('version', () => {
  it('gives superseded versions too, and what is not there is not found', async () => {
    await loadVersion(database, { agentKey: 'history', files: { 'a.md': 'one' } });
    await loadVersion(database, { agentKey: 'history', files: { 'a.md': 'two' } });
    const query = `query ($v: String!) { version(agentKey: "history", knowledgeVersion: $v) {
      knowledgeVersion status isActive generation sourceStale files { content } } }`;
    expect((await ask(query, { v: 'v1' })).data.version).toEqual({
      knowledgeVersion: 'v1',
      status: 'SUPERSEDED',
      isActive: false,
      generation: 2,
      sourceStale: false,
      files: [{ content: 'one' }],
    });
    for (const v of ['v3', 'v0', '1', 'V1', 'v01', 'v99999999999', '', ' v1']) {
      const answer = await ask(query, { v });
      expect(codesOf(answer), v).toEqual(['NOT_FOUND']);
    }
    const nobody = await ask(`{ version(agentKey: "nobody", knowledgeVersion: "v1") { status } }`);
    expect(nobody.errors?.[0]?.message).toBe('No agent "nobody" in environment "production".');
  });

  it('is stale only when it is the active one', async () => {
    const files = { 'a.md': 'two' };
    await loadVersion(database, { agentKey: 'gone_stale', files: { 'a.md': 'one' } });
    await loadVersion(database, { agentKey: 'gone_stale', files });
    const look = { root: 'trouble', code: 'root_missing', message: 'Gone.' } as const;
    await lookAt(database, { agentKey: 'gone_stale', files, look });
    const { data } = await ask(
      `{ versions(agentKey: "gone_stale") { nodes { knowledgeVersion sourceStale } } }`,
    );
    expect(data.versions.nodes).toEqual([
      { knowledgeVersion: 'v2', sourceStale: true },
      { knowledgeVersion: 'v1', sourceStale: false },
    ]);
  });

  it('keeps the warnings it was accepted with', async () => {
    await loadVersion(database, { agentKey: 'warned', files: { 'a.md': '\uFEFFtext\n' } });
    const { data } = await ask(
      `{ activeVersion(agentKey: "warned") { warnings { code relativePath line message } } }`,
    );
    expect(data.activeVersion.warnings).toContainEqual({
      code: 'utf8_bom',
      relativePath: 'a.md',
      line: expect.toSatisfy((line) => line === null || Number.isInteger(line)),
      message: expect.any(String),
    });
  });
});

describe('versionsByChecksum', () => {
  it('finds the same content across agents and environments', async () => {
    const files = { 'same.md': 'the same content' };
    await loadVersion(database, { agentKey: 'twin_a', files });
    await loadVersion(database, { agentKey: 'twin_b', environment: 'dev', files });
    const { data } = await ask(`{ activeVersion(agentKey: "twin_a") { checksum } }`);
    const query = `query ($checksum: String!) { versionsByChecksum(checksum: $checksum) { agentKey environment } }`;
    const found = await ask(query, { checksum: data.activeVersion.checksum });
    expect(found.data.versionsByChecksum).toEqual([
      { agentKey: 'twin_a', environment: 'production' },
      { agentKey: 'twin_b', environment: 'dev' },
    ]);
    expect((await ask(query, { checksum: '0'.repeat(64) })).data.versionsByChecksum).toEqual([]);
    for (const checksum of ['', 'abc', 'A'.repeat(64), `${'0'.repeat(64)} `]) {
      expect(codesOf(await ask(query, { checksum }))).toEqual(['BAD_USER_INPUT']);
    }
  });
});
