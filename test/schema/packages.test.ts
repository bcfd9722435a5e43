import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { acceptRegistry } from '../../src/operations/accept-registry.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { codesOf, createAsk, type Ask } from '../support/graphql.ts';
import { loadVersion, lookAt, registerAgent } from '../support/knowledge.ts';

let database: TestDatabase;
let ask: Ask;

beforeAll(async () => {
  database = await createTestDatabase();
  ask = createAsk(() => database.context());
});
afterAll(() => database[Symbol.asyncDispose]());

const everything = `query ($agentKey: String!, $environment: String) {
  package(agentKey: $agentKey, environment: $environment) {
    agentKey environment agentCode stage enabled listed generation sourceStale
    active { knowledgeVersion isActive status generation }
    newest { knowledgeVersion isActive status }
    pending { knowledgeVersion }
    hold { actor at reason cause }
    sourceStatus { watched state lastLookAt lastSuccessAt outcome reason message }
    versions { totalCount nodes { knowledgeVersion } }
  }
}`;

describe('package', () => {
  it('shows a package that nobody has looked at, with nothing but its labels', async () => {
    await registerAgent(database, { agentKey: 'untouched', files: { 'a.md': '' } });
    const { data, errors } = await ask(everything, { agentKey: 'untouched' });
    expect(errors).toBeUndefined();
    expect(data.package).toEqual({
      agentKey: 'untouched',
      environment: 'production',
      agentCode: 'CODE-untouched',
      stage: 'Testing',
      enabled: true,
      listed: true,
      generation: 0,
      sourceStale: false,
      active: null,
      newest: null,
      pending: null,
      hold: null,
      sourceStatus: {
        watched: false,
        state: 'unknown',
        lastLookAt: null,
        lastSuccessAt: null,
        outcome: null,
        reason: null,
        message: null,
      },
      versions: { totalCount: 0, nodes: [] },
    });
  });

  it('shows the active and newest version and how the source was', async () => {
    await loadVersion(database, { agentKey: 'loaded', files: { 'a.md': 'one' } });
    await loadVersion(database, { agentKey: 'loaded', files: { 'a.md': 'two' } });
    const { data } = await ask(everything, { agentKey: 'loaded', environment: 'production' });
    expect(data.package).toMatchObject({
      generation: 2,
      active: { knowledgeVersion: 'v2', isActive: true, status: 'ACTIVE', generation: 2 },
      newest: { knowledgeVersion: 'v2', isActive: true, status: 'ACTIVE' },
      pending: null,
      sourceStatus: { state: 'ok', outcome: 'LOADED', reason: null, message: null },
      versions: { totalCount: 2, nodes: [{ knowledgeVersion: 'v2' }, { knowledgeVersion: 'v1' }] },
    });
    expect(data.package.sourceStatus.lastLookAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(data.package.sourceStatus.lastSuccessAt).toMatch(/Z$/);
  });

  it('says why the last look failed and that the source is stale, and keeps the active version', async () => {
    const files = { 'a.md': 'one' };
    await loadVersion(database, { agentKey: 'failing', files });
    const look = { root: 'trouble', code: 'root_missing', message: 'The folder is not there.' } as const;
    await lookAt(database, { agentKey: 'failing', files, look });
    const { data } = await ask(everything, { agentKey: 'failing' });
    expect(data.package).toMatchObject({
      active: { knowledgeVersion: 'v1' },
      sourceStale: true,
      sourceStatus: { state: 'failed', outcome: 'FAILED', reason: 'root_missing' },
    });
    expect(data.package.sourceStatus.message).toContain('The folder is not there.');
  });

  it('says that the registry is refused, and why, where the last look was well', async () => {
    await using own = await createTestDatabase();
    await loadVersion(own, { agentKey: 'refused', files: { 'a.md': 'one' } });
    const context = own.context();
    const looker = { id: 'here', actorId: context.caller.actorId };
    await acceptRegistry(context, { bytes: Buffer.from('{'), looker, watchEnvironments: [] });
    const { data } = await createAsk(() => context)(everything, { agentKey: 'refused' });
    expect(data.package).toMatchObject({
      active: { knowledgeVersion: 'v1' },
      sourceStale: true,
      sourceStatus: { state: 'registry_rejected', reason: 'registry_bad_json' },
    });
    expect(data.package.sourceStatus.message).toContain('registry');
  });

  it('calls the newest version pending while it waits, and not while the package is held', async () => {
    const call = () => database.context({ policy: { activate: () => 'manual' } });
    await loadVersion(database, { agentKey: 'waiting', files: { 'a.md': 'one' } });
    await ask(`mutation { hold(agentKey: "waiting", reason: "Wait.") { hold { cause } } }`);
    await loadVersion(database, { agentKey: 'waiting', files: { 'a.md': 'two' } });
    const held = await ask(everything, { agentKey: 'waiting' }, { call: call() });
    expect(held.data.package).toMatchObject({
      active: { knowledgeVersion: 'v1' },
      newest: { knowledgeVersion: 'v2', isActive: false, status: 'SUPERSEDED' },
      pending: null,
      hold: { actor: 'test', reason: 'Wait.', cause: 'OPERATOR' },
    });
    await ask(`mutation { release(agentKey: "waiting") { hold { cause } } }`);
    const released = await ask(everything, { agentKey: 'waiting' });
    expect(released.data.package).toMatchObject({ pending: { knowledgeVersion: 'v2' }, hold: null });
  });

  it('refuses an unknown agent and an unknown environment', async () => {
    await registerAgent(database, { agentKey: 'known', files: { 'a.md': '' } });
    const agent = await ask(`{ package(agentKey: "nobody") { agentKey } }`);
    expect(agent.status).toBe(200);
    expect(agent.data).toBeNull();
    expect(agent.errors).toMatchObject([
      { message: 'No agent "nobody" in environment "production".', extensions: { code: 'NOT_FOUND' } },
    ]);
    const environment = await ask(`{ package(agentKey: "known", environment: "moon") { agentKey } }`);
    expect(codesOf(environment)).toEqual(['NOT_FOUND']);
    expect(environment.errors?.[0]?.message).toContain('dev, staging, production');
  });
});

describe('packages', () => {
  it('lists every agent of one environment by key, versions or not', async () => {
    await using own = await createTestDatabase();
    const asOwn = createAsk(() => own.context());
    expect((await asOwn(`{ packages { agentKey } }`)).data).toEqual({ packages: [] });
    await registerAgent(own, { agentKey: 'beta', files: { 'b.md': '' } });
    await loadVersion(own, { agentKey: 'alpha', environment: 'dev', files: { 'a.md': 'one' } });
    const { data } = await asOwn(`{
      dev: packages(environment: "dev") { agentKey environment active { knowledgeVersion } }
      default: packages { agentKey environment active { knowledgeVersion } }
    }`);
    expect(data).toEqual({
      dev: [
        { agentKey: 'alpha', environment: 'dev', active: { knowledgeVersion: 'v1' } },
        { agentKey: 'beta', environment: 'dev', active: null },
      ],
      default: [
        { agentKey: 'alpha', environment: 'production', active: null },
        { agentKey: 'beta', environment: 'production', active: null },
      ],
    });
    expect(codesOf(await asOwn(`{ packages(environment: "moon") { agentKey } }`))).toEqual(['NOT_FOUND']);
  });
});
