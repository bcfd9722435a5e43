import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventHash, type HashedEvent } from '../../src/core/events.ts';
import { caller, createTestDatabase, type TestDatabase } from '../support/database.ts';
import { codesOf, createAsk, type Ask } from '../support/graphql.ts';
import { loadVersion } from '../support/knowledge.ts';

let database: TestDatabase;
let ask: Ask;

beforeAll(async () => {
  database = await createTestDatabase();
  ask = createAsk(() => database.context());
  await loadVersion(database, { agentKey: 'seen', files: { 'a.md': 'one' } });
  await loadVersion(database, { agentKey: 'seen', environment: 'dev', files: { 'a.md': 'dev' } });
  await loadVersion(database, { agentKey: 'unseen', files: { 'a.md': 'one' } });
  await ask(
    `mutation { hold(agentKey: "seen", reason: "A reason that is nobody else's business.") { generation } }`,
  );
});
afterAll(() => database[Symbol.asyncDispose]());

const everyField = `epoch sequence at timeMicros actorId actor action agentKey environment subject details hash previousHash`;

describe('auditEvents', () => {
  it('shows every hashed field, so that a client can check the chain by itself', async () => {
    const { data, errors } = await ask(
      `{ auditEvents(first: 200) { nodes { ${everyField} } totalCount totalIsExact } }`,
    );
    expect(errors).toBeUndefined();
    const events = data.auditEvents.nodes as (HashedEvent & { hash: string; at: string; actor: string })[];
    expect(data.auditEvents).toMatchObject({ totalCount: events.length, totalIsExact: true });
    expect(events.length).toBeGreaterThan(5);
    let previousHash = '0'.repeat(64);
    for (const event of events.toReversed()) {
      expect(event.previousHash).toBe(previousHash);
      expect(eventHash(event)).toBe(event.hash);
      expect(event.timeMicros).toMatch(/^\d{16}$/);
      expect(new Date(event.at).getTime()).toBe(Math.floor(Number(event.timeMicros) / 1000));
      expect(event.at).toMatch(/\.\d{3}Z$/);
      previousHash = event.hash;
    }
  });

  it('names the actor, and the hashed reference where the name has been erased', async () => {
    await using own = await createTestDatabase();
    const asOwn = createAsk(() => own.context());
    await loadVersion(own, { agentKey: 'named', files: { 'a.md': 'one' } });
    const query = `{ auditEvents(first: 1) { nodes { actorId actor } } activeVersion(agentKey: "named") { loadedBy } }`;
    const before = await asOwn(query);
    expect(before.data.auditEvents.nodes).toEqual([
      { actorId: expect.stringMatching(/^local:\d+$/), actor: 'test' },
    ]);
    await own.asSuperuser((client) => client.query('delete from agent_knowledge.actor_name'));
    const after = await asOwn(query);
    const { actorId } = before.data.auditEvents.nodes[0];
    expect(after.data).toEqual({
      auditEvents: { nodes: [{ actorId, actor: actorId }] },
      activeVersion: { loadedBy: null },
    });
  });

  it('is filtered by agent, environment and action', async () => {
    const query = `query ($agentKey: String, $environment: String, $action: String) {
      auditEvents(agentKey: $agentKey, environment: $environment, action: $action) {
        nodes { agentKey environment action } totalCount
      }
    }`;
    const loaded = { agentKey: 'seen', action: 'agent.knowledge_loaded' };
    const both = await ask(query, { agentKey: 'seen' });
    expect(both.data.auditEvents.nodes).toEqual([
      { ...loaded, environment: 'production', action: 'agent.knowledge_held' },
      { ...loaded, environment: 'dev' },
      { ...loaded, environment: 'production' },
    ]);
    const dev = await ask(query, { environment: 'dev' });
    expect(dev.data.auditEvents).toEqual({ nodes: [{ ...loaded, environment: 'dev' }], totalCount: 1 });
    const held = await ask(query, { action: 'agent.knowledge_held' });
    expect(held.data.auditEvents.totalCount).toBe(1);
    expect((await ask(query, { agentKey: 'nobody' })).data.auditEvents).toEqual({ nodes: [], totalCount: 0 });
    expect(codesOf(await ask(query, { environment: 'moon' }))).toEqual(['NOT_FOUND']);
    expect(codesOf(await ask(query, { action: 'agent.knowledge_rolled_back' }))).toEqual(['BAD_USER_INPUT']);
  });

  it('shows a bound key only what concerns packages it may see', async () => {
    const { actorId } = database.context().caller;
    const bound = caller(actorId, ['knowledge:read'], { agents: ['seen'], environments: ['production'] });
    const { data } = await ask(
      `{ auditEvents { nodes { agentKey environment } totalCount } }`,
      {},
      {
        call: database.context({ caller: bound }),
      },
    );
    expect(data.auditEvents.totalCount).toBe(2);
    for (const event of data.auditEvents.nodes)
      expect(event).toEqual({ agentKey: 'seen', environment: 'production' });
  });

  it('holds no reason, only its hash', async () => {
    const { text } = await ask(`{ auditEvents(action: "agent.knowledge_held") { nodes { ${everyField} } } }`);
    expect(text).not.toContain('business');
    expect(text).toContain('reasonHash');
  });
});
