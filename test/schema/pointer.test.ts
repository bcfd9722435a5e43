import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { codesOf, createAsk, type Ask } from '../support/graphql.ts';
import { loadVersion, registerAgent } from '../support/knowledge.ts';

let database: TestDatabase;
let ask: Ask;

beforeAll(async () => {
  database = await createTestDatabase();
  ask = createAsk(() => database.context());
});
afterAll(() => database[Symbol.asyncDispose]());

async function loadThree(agentKey: string): Promise<void> {
  for (const text of ['one', 'two', 'three'])
    await loadVersion(database, { agentKey, files: { 'a.md': text } });
}

const activate = `mutation ($agentKey: String!, $environment: String, $version: String!, $expected: String, $hold: Boolean, $reason: String, $key: String) {
  activate(agentKey: $agentKey, environment: $environment, knowledgeVersion: $version, expectedActive: $expected, hold: $hold, reason: $reason, idempotencyKey: $key) {
    environment generation active { knowledgeVersion } newest { knowledgeVersion } pending { knowledgeVersion } hold { actor at reason cause }
  }
}`;

describe('activate', () => {
  it('moves the pointer back and forward, and nothing else', async () => {
    await loadThree('moves');
    const back = await ask(activate, { agentKey: 'moves', version: 'v1' });
    expect(back.data.activate).toEqual({
      environment: 'production',
      generation: 4,
      active: { knowledgeVersion: 'v1' },
      newest: { knowledgeVersion: 'v3' },
      pending: { knowledgeVersion: 'v3' },
      hold: null,
    });
    const forward = await ask(activate, { agentKey: 'moves', version: 'v3' });
    expect(forward.data.activate).toMatchObject({ generation: 5, pending: null });
  });

  it('changes nothing when the version is active already', async () => {
    await loadThree('still');
    const { data } = await ask(activate, { agentKey: 'still', version: 'v3' });
    expect(data.activate).toMatchObject({ generation: 3, active: { knowledgeVersion: 'v3' } });
  });

  it('is a conflict with the current version where the caller believes otherwise', async () => {
    await loadThree('believes');
    const answer = await ask(activate, { agentKey: 'believes', version: 'v1', expected: 'v2' });
    expect(answer.status).toBe(200);
    expect(answer.data).toBeNull();
    expect(answer.errors).toMatchObject([
      { path: ['activate'], extensions: { code: 'CONFLICT', current: 'v3' } },
    ]);
    expect(
      (await ask(activate, { agentKey: 'believes', version: 'v1', expected: 'v3' })).errors,
    ).toBeUndefined();
    expect(codesOf(await ask(activate, { agentKey: 'believes', version: 'v1', expected: 'x' }))).toEqual([
      'BAD_USER_INPUT',
    ]);
  });

  it('holds, keeps a hold and ends it as asked', async () => {
    await loadThree('holds');
    const held = await ask(activate, { agentKey: 'holds', version: 'v2', hold: true, reason: 'Look at v3.' });
    expect(held.data.activate.hold).toEqual({
      actor: 'test',
      at: expect.stringMatching(/\.\d{3}Z$/),
      reason: 'Look at v3.',
      cause: 'OPERATOR',
    });
    const kept = await ask(activate, { agentKey: 'holds', version: 'v1' });
    expect(kept.data.activate.hold).toMatchObject({ reason: 'Look at v3.' });
    const ended = await ask(activate, { agentKey: 'holds', version: 'v3', hold: false });
    expect(ended.data.activate.hold).toBeNull();
  });

  it('refuses versions, agents and environments that are not there', async () => {
    await loadThree('refuses');
    for (const version of ['v4', 'v0', '3', '']) {
      expect(codesOf(await ask(activate, { agentKey: 'refuses', version })), version).toEqual(['NOT_FOUND']);
    }
    expect(codesOf(await ask(activate, { agentKey: 'nobody', version: 'v1' }))).toEqual(['NOT_FOUND']);
    expect(codesOf(await ask(activate, { agentKey: 'refuses', environment: 'dev', version: 'v1' }))).toEqual([
      'NOT_FOUND',
    ]);
    expect(codesOf(await ask(activate, { agentKey: 'refuses', environment: 'moon', version: 'v1' }))).toEqual(
      ['NOT_FOUND'],
    );
  });

  it('happens once per idempotency key', async () => {
    await loadThree('once');
    const call = { agentKey: 'once', version: 'v1', key: 'k' };
    await ask(activate, call);
    await ask(activate, { agentKey: 'once', version: 'v2' });
    const again = await ask(activate, call);
    expect(again.data.activate).toMatchObject({ generation: 5, active: { knowledgeVersion: 'v2' } });
    expect(codesOf(await ask(activate, { ...call, version: 'v3' }))).toEqual(['CONFLICT']);
  });
});

describe('hold and release', () => {
  it('hold keeps the pointer where it is, release lets it go', async () => {
    await loadThree('brake');
    const held = await ask(
      `mutation { hold(agentKey: "brake", reason: "  Audit.  ") { generation hold { reason cause } } }`,
    );
    expect(held.data.hold).toEqual({ generation: 3, hold: { reason: 'Audit.', cause: 'OPERATOR' } });
    await loadVersion(database, { agentKey: 'brake', files: { 'a.md': 'four' } });
    const released = await ask(`mutation { release(agentKey: "brake") {
      active { knowledgeVersion } pending { knowledgeVersion } hold { reason } } }`);
    expect(released.data.release).toEqual({
      active: { knowledgeVersion: 'v3' },
      pending: { knowledgeVersion: 'v4' },
      hold: null,
    });
    const newest = await ask(
      `mutation { release(agentKey: "brake", activateNewest: true) { active { knowledgeVersion } pending { checksum } } }`,
    );
    expect(newest.data.release).toEqual({ active: { knowledgeVersion: 'v4' }, pending: null });
  });

  it('shows each mutation of a document what those before it have done', async () => {
    await loadThree('serial');
    const { data } = await ask(`mutation {
      a: activate(agentKey: "serial", knowledgeVersion: "v1") { generation active { knowledgeVersion isActive } hold { reason } }
      b: hold(agentKey: "serial", reason: "Stay.") { generation active { knowledgeVersion isActive } hold { reason } }
      c: activate(agentKey: "serial", knowledgeVersion: "v2") { generation active { knowledgeVersion isActive } hold { reason } }
      d: release(agentKey: "serial", activateNewest: true) { generation active { knowledgeVersion isActive } hold { reason } }
    }`);
    expect(data).toEqual({
      a: { generation: 4, active: { knowledgeVersion: 'v1', isActive: true }, hold: null },
      b: { generation: 4, active: { knowledgeVersion: 'v1', isActive: true }, hold: { reason: 'Stay.' } },
      c: { generation: 5, active: { knowledgeVersion: 'v2', isActive: true }, hold: { reason: 'Stay.' } },
      d: { generation: 6, active: { knowledgeVersion: 'v3', isActive: true }, hold: null },
    });
  });

  it('wants a reason', async () => {
    await registerAgent(database, { agentKey: 'reasons', files: { 'a.md': '' } });
    for (const reason of ['', '   ', 'x'.repeat(501)]) {
      const answer = await ask(
        `mutation ($reason: String!) { hold(agentKey: "reasons", reason: $reason) { generation } }`,
        { reason },
      );
      expect(codesOf(answer)).toEqual(['BAD_USER_INPUT']);
    }
    expect(codesOf(await ask(`mutation { hold(agentKey: "nobody", reason: "x") { generation } }`))).toEqual([
      'NOT_FOUND',
    ]);
    expect(codesOf(await ask(`mutation { release(agentKey: "nobody") { generation } }`))).toEqual([
      'NOT_FOUND',
    ]);
  });

  it('names a reference where the names behind a hold have been erased', async () => {
    await using own = await createTestDatabase();
    const asOwn = createAsk(() => own.context());
    await registerAgent(own, { agentKey: 'erased', files: { 'a.md': '' } });
    await asOwn(`mutation { hold(agentKey: "erased", reason: "x") { generation } }`);
    await own.asSuperuser((client) =>
      client.query('delete from agent_knowledge.actor_name; delete from agent_knowledge.remark'),
    );
    const { data } = await asOwn(`{ package(agentKey: "erased") { hold { actor reason } } }`);
    expect(data.package.hold).toEqual({
      actor: expect.stringMatching(/^actor:\d+$/),
      reason: 'The reason has been erased.',
    });
  });
});
