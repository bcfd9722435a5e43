import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { caller, createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startFakeDaemon, takeRequests, type FakeDaemon } from '../support/fake-daemon.ts';
import { codesOf, createAsk, type Ask } from '../support/graphql.ts';
import { loadVersion, registerAgent } from '../support/knowledge.ts';

let database: TestDatabase;
let ask: Ask;

beforeAll(async () => {
  database = await createTestDatabase();
  ask = createAsk(() => database.context());
});
afterAll(() => database[Symbol.asyncDispose]());

const refresh = `mutation ($agentKey: String!, $environment: String, $wait: Int, $shrink: Boolean, $key: String) {
  refresh(agentKey: $agentKey, environment: $environment, waitSeconds: $wait, acceptShrink: $shrink, idempotencyKey: $key) {
    id state outcome matchingVersion reason message
    faults { code relativePath line message } warnings { code }
    version { knowledgeVersion isActive files { content } }
    package { agentKey environment generation active { knowledgeVersion } hold { cause } }
  }
}`;

describe('refresh without a daemon', () => {
  it('is queued at once and stays', async () => {
    await registerAgent(database, { agentKey: 'queued', files: { 'a.md': '' } });
    const before = performance.now();
    const { data } = await ask(refresh, { agentKey: 'queued', environment: 'dev', wait: 60 });
    expect(performance.now() - before).toBeLessThan(5000);
    expect(data.refresh).toEqual({
      id: expect.stringMatching(/^ref_[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/),
      state: 'QUEUED',
      outcome: null,
      matchingVersion: null,
      reason: null,
      message: null,
      faults: [],
      warnings: [],
      version: null,
      package: { agentKey: 'queued', environment: 'dev', generation: 0, active: null, hold: null },
    });
  });

  it('says that somebody is at it', async () => {
    await registerAgent(database, { agentKey: 'taken', files: { 'a.md': '' } });
    const variables = { agentKey: 'taken', key: 'the same call' };
    const first = await ask(refresh, variables);
    const taken = await takeRequests(database, { agentKey: 'taken', environment: 'production' });
    const again = await ask(refresh, variables);
    await taken.putBack();
    expect(again.data.refresh).toMatchObject({ id: first.data.refresh.id, state: 'RUNNING', outcome: null });
  });

  it('refuses what it cannot mean', async () => {
    await registerAgent(database, { agentKey: 'limits', files: { 'a.md': '' } });
    for (const wait of [-1, 61]) {
      expect(codesOf(await ask(refresh, { agentKey: 'limits', wait }))).toEqual(['BAD_USER_INPUT']);
    }
    for (const key of ['', 'x'.repeat(129), 'no\nlines', 'naïve']) {
      expect(codesOf(await ask(refresh, { agentKey: 'limits', key })), key).toEqual(['BAD_USER_INPUT']);
    }
    expect(codesOf(await ask(refresh, { agentKey: 'nobody' }))).toEqual(['NOT_FOUND']);
    expect(codesOf(await ask(refresh, { agentKey: 'limits', environment: 'moon' }))).toEqual(['NOT_FOUND']);
  });

  it('is a conflict where an idempotency key comes with other arguments', async () => {
    await registerAgent(database, { agentKey: 'keyed', files: { 'a.md': '' } });
    await ask(refresh, { agentKey: 'keyed', key: 'one' });
    const answer = await ask(refresh, { agentKey: 'keyed', environment: 'dev', key: 'one' });
    expect(codesOf(answer)).toEqual(['CONFLICT']);
  });
});

describe('refresh with a daemon', () => {
  let daemon: FakeDaemon;

  beforeAll(async () => {
    daemon = await startFakeDaemon(database);
  });
  afterAll(() => daemon[Symbol.asyncDispose]());

  async function refreshed(agentKey: string, files: Record<string, string>, variables: object = {}) {
    daemon.show({ agentKey, files });
    await registerAgent(database, { agentKey, files });
    const { data, errors } = await ask(refresh, { agentKey, ...variables });
    expect(errors).toBeUndefined();
    return data.refresh;
  }

  it('loads a new version and says so', async () => {
    expect(await refreshed('loads', { 'a.md': 'one' })).toEqual({
      id: expect.any(String),
      state: 'DONE',
      outcome: 'LOADED',
      matchingVersion: null,
      reason: null,
      message: expect.any(String),
      faults: [],
      warnings: [],
      version: { knowledgeVersion: 'v1', isActive: true, files: [{ content: 'one' }] },
      package: {
        agentKey: 'loads',
        environment: 'production',
        generation: 1,
        active: { knowledgeVersion: 'v1' },
        hold: null,
      },
    });
  });

  it('names the version that an unchanged source matches', async () => {
    for (const text of ['one', 'two', 'three']) await refreshed('unchanged', { 'a.md': text });
    await ask(`mutation { activate(agentKey: "unchanged", knowledgeVersion: "v1") { generation } }`);
    expect(await refreshed('unchanged', { 'a.md': 'three' })).toMatchObject({
      state: 'DONE',
      outcome: 'UNCHANGED',
      reason: 'same_checksum',
      matchingVersion: 'v3',
      version: null,
      package: { active: { knowledgeVersion: 'v1' } },
    });
  });

  it('tells every fault, the first one as the reason, and keeps the active version', async () => {
    await refreshed('refused', { 'a.md': 'fine', 'b.md': 'fine' });
    const answer = await refreshed('refused', { 'a.md': 'x\n<?php echo 1;', 'b.md': '\0' });
    expect(answer).toMatchObject({
      outcome: 'VALIDATION_FAILED',
      reason: answer.faults[0].code,
      message: `a.md: ${answer.faults[0].message} (and 1 more)`,
      version: null,
      package: { active: { knowledgeVersion: 'v1' } },
    });
    expect(answer.faults).toMatchObject([
      { code: 'php_payload', relativePath: 'a.md', line: 2 },
      { code: 'null_byte', relativePath: 'b.md' },
    ]);
  });

  it('holds a package that shrank, unless that is meant', async () => {
    await refreshed('shrinks', { 'a.md': 'x'.repeat(9000) });
    expect(await refreshed('shrinks', { 'a.md': 'y'.repeat(100) })).toMatchObject({
      outcome: 'LOADED',
      version: { knowledgeVersion: 'v2', isActive: false },
      package: { active: { knowledgeVersion: 'v1' }, hold: { cause: 'SHRANK' } },
    });
    await refreshed('meant', { 'a.md': 'x'.repeat(9000) });
    expect(await refreshed('meant', { 'a.md': 'y'.repeat(100) }, { shrink: true })).toMatchObject({
      version: { isActive: true },
      package: { hold: null },
    });
  });

  it('gives content only to a caller that may read it', async () => {
    await refreshed('private', { 'a.md': 'secret content' });
    const { actorId } = database.context().caller;
    const call = database.context({ caller: caller(actorId, ['ai.knowledge.refresh']) });
    daemon.show({ agentKey: 'private', files: { 'a.md': 'other content' } });
    const answer = await ask(refresh, { agentKey: 'private' }, { call });
    expect(codesOf(answer)).toEqual(['FORBIDDEN']);
    expect(answer.text).not.toContain('other content');
    const metadata = await ask(
      `mutation { refresh(agentKey: "private") { outcome package { active { checksum } } } }`,
      {},
      { call },
    );
    expect(metadata.errors).toBeUndefined();
  });
});

describe('promote', () => {
  const promote = `mutation ($agentKey: String!, $from: String!, $to: String!, $version: String!, $hold: Boolean, $reason: String, $key: String) {
    promote(agentKey: $agentKey, from: $from, to: $to, knowledgeVersion: $version, hold: $hold, reason: $reason, idempotencyKey: $key) {
      id state outcome matchingVersion reason version { environment knowledgeVersion checksum } package { environment hold { reason } }
    }
  }`;

  it('brings a version to another environment as its next number', async () => {
    await loadVersion(database, { agentKey: 'promoted', environment: 'dev', files: { 'a.md': 'tried' } });
    const variables = { agentKey: 'promoted', from: 'dev', to: 'production', version: 'v1' };
    const { data } = await ask(promote, { ...variables, hold: true, reason: 'Frozen.', key: 'p1' });
    const source = await ask(`{ activeVersion(agentKey: "promoted", environment: "dev") { checksum } }`);
    expect(data.promote).toMatchObject({
      state: 'DONE',
      outcome: 'LOADED',
      version: { environment: 'production', knowledgeVersion: 'v1', ...source.data.activeVersion },
      package: { environment: 'production', hold: { reason: 'Frozen.' } },
    });
    const again = await ask(promote, { ...variables, hold: true, reason: 'Frozen.', key: 'p1' });
    expect(again.data.promote).toEqual(data.promote);
    const unchanged = await ask(promote, variables);
    expect(unchanged.data.promote).toMatchObject({
      outcome: 'UNCHANGED',
      reason: 'same_checksum',
      matchingVersion: 'v1',
      version: null,
    });
  });

  it('refuses what is not there and what makes no sense', async () => {
    await loadVersion(database, { agentKey: 'strange', environment: 'dev', files: { 'a.md': 'tried' } });
    const sense = { agentKey: 'strange', from: 'dev', to: 'staging', version: 'v1' };
    expect(codesOf(await ask(promote, { ...sense, to: 'dev' }))).toEqual(['BAD_USER_INPUT']);
    expect(codesOf(await ask(promote, { ...sense, version: 'v9' }))).toEqual(['NOT_FOUND']);
    expect(codesOf(await ask(promote, { ...sense, to: 'moon' }))).toEqual(['NOT_FOUND']);
    expect(codesOf(await ask(promote, { ...sense, agentKey: 'nobody' }))).toEqual(['NOT_FOUND']);
    const { actorId } = database.context().caller;
    const call = database.context({ caller: caller(actorId, ['ai.knowledge.refresh']) });
    expect(codesOf(await ask(promote, { ...sense, hold: true }, { call }))).toEqual(['FORBIDDEN']);
  });
});
