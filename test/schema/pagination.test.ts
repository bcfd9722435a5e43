import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { codesOf, createAsk, type Ask } from '../support/graphql.ts';
import { loadVersion, registerAgent } from '../support/knowledge.ts';
import { recordStatements } from '../support/statements.ts';

let database: TestDatabase;
let ask: Ask;

beforeAll(async () => {
  database = await createTestDatabase();
  ask = createAsk(() => database.context());
  for (let n = 1; n <= 5; n += 1)
    await loadVersion(database, { agentKey: 'pages', files: { 'a.md': `text ${n}` } });
  await loadVersion(database, { agentKey: 'other', files: { 'a.md': 'text' } });
  await registerAgent(database, { agentKey: 'none', files: { 'a.md': '' } });
});
afterAll(() => database[Symbol.asyncDispose]());

const page = `query ($agentKey: String = "pages", $first: Int, $after: String) {
  versions(agentKey: $agentKey, first: $first, after: $after) {
    edges { cursor node { knowledgeVersion } }
    nodes { knowledgeVersion }
    pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
    totalCount
  }
}`;

describe('a connection', () => {
  it('leads through the whole list, newest first, each row once', async () => {
    const seen: string[] = [];
    let after: string | null = null;
    for (let pages = 1; pages <= 3; pages += 1) {
      const { data } = await ask(page, { first: 2, after });
      const { edges, nodes, pageInfo, totalCount } = data.versions;
      expect(totalCount).toBe(5);
      expect(edges.map((edge: { node: object }) => edge.node)).toEqual(nodes);
      expect(pageInfo).toEqual({
        hasNextPage: pages < 3,
        hasPreviousPage: pages > 1,
        startCursor: edges[0].cursor,
        endCursor: edges.at(-1).cursor,
      });
      seen.push(...nodes.map((node: { knowledgeVersion: string }) => node.knowledgeVersion));
      after = pageInfo.endCursor;
    }
    expect(seen).toEqual(['v5', 'v4', 'v3', 'v2', 'v1']);
  });

  it('is the same list below a package', async () => {
    const { data } = await ask(`{
      package(agentKey: "pages") { versions(first: 1) { nodes { knowledgeVersion } pageInfo { endCursor } } }
      versions(agentKey: "pages", first: 1) { pageInfo { endCursor } }
    }`);
    expect(data.package.versions.pageInfo).toEqual(data.versions.pageInfo);
  });

  it('has no cursors where it has no rows', async () => {
    const { data } = await ask(page, { agentKey: 'none' });
    expect(data.versions).toEqual({
      edges: [],
      nodes: [],
      totalCount: 0,
      pageInfo: { hasNextPage: false, hasPreviousPage: false, startCursor: null, endCursor: null },
    });
  });

  it('refuses cursors of another list and garbled ones', async () => {
    const { data } = await ask(`{
      other: versions(agentKey: "other") { pageInfo { endCursor } }
      events: auditEvents(first: 1) { pageInfo { endCursor } }
    }`);
    const foreign = [data.other.pageInfo.endCursor, data.events.pageInfo.endCursor];
    const garbled = ['', 'x', '%%%', 'djE', '🙂', 'null', 'A'.repeat(5000)];
    for (const after of [...foreign, ...garbled]) {
      expect(codesOf(await ask(page, { after })), after).toEqual(['BAD_USER_INPUT']);
    }
  });

  it('takes 1 to 200 rows', async () => {
    for (const first of [0, -1, 201, 2_147_483_647]) {
      expect(codesOf(await ask(page, { first })), String(first)).toEqual(['BAD_USER_INPUT']);
    }
    expect((await ask(page, { first: 200 })).data.versions.nodes).toHaveLength(5);
  });

  it('counts events only when somebody asks, and versions never: their numbers have no gap', async () => {
    using recording = recordStatements();
    const counts = () => recording.statements.filter((statement) => statement.includes('count(')).length;
    await ask(
      `{ versions(agentKey: "other") { nodes { knowledgeVersion } } auditEvents { nodes { action } } }`,
    );
    expect(counts()).toBe(0);
    await ask(`{ versions(agentKey: "other") { totalCount } auditEvents { totalCount totalIsExact } }`);
    expect(counts()).toBe(1);
  });
});
