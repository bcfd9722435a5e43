import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { createAsk, type Ask } from '../support/graphql.ts';
import { loadVersion } from '../support/knowledge.ts';
import { recordStatements } from '../support/statements.ts';

let database: TestDatabase;
let ask: Ask;

beforeAll(async () => {
  database = await createTestDatabase();
  ask = createAsk(() => database.context());
  for (let n = 1; n <= 50; n += 1) {
    await loadVersion(database, { agentKey: 'many', files: { 'a.md': `text ${n}`, 'b.md': 'the same' } });
  }
  for (let n = 1; n <= 12; n += 1)
    await loadVersion(database, { agentKey: `agent_${n}`, files: { 'a.md': `text ${n}` } });
}, 120_000);
afterAll(() => database[Symbol.asyncDispose]());

async function statementsOf(query: string, variables: Record<string, unknown> = {}): Promise<number> {
  using recording = recordStatements();
  const { errors } = await ask(query, variables);
  expect(errors).toBeUndefined();
  return recording.statements.length;
}

const history = `query ($first: Int) {
  package(agentKey: "many") {
    active { files { relativePath } } newest { files { checksum } } pending { checksum }
    sourceStale sourceStatus { state }
    versions(first: $first) { totalCount nodes { knowledgeVersion sourceStale files { relativePath content } } }
  }
}`;

const packages = `{ packages { agentKey active { files { relativePath } } newest { checksum } sourceStale sourceStatus { state }
  versions(first: 5) { totalCount nodes { knowledgeVersion files { relativePath } } } } }`;

describe('the number of statements', () => {
  it('is the same for 50 versions with manifests, contents and statuses as for one', async () => {
    const forOne = await statementsOf(history, { first: 1 });
    const forFifty = await statementsOf(history, { first: 50 });
    expect(forFifty).toBeLessThanOrEqual(forOne);
    expect(forFifty).toBeLessThanOrEqual(9);
  });

  it('does not grow with the number of packages', async () => {
    expect(await statementsOf(packages)).toBeLessThanOrEqual(4);
  });

  it('is exceeded by asking one by one, so that this test can fail', async () => {
    using recording = recordStatements();
    for (let n = 1; n <= 12; n += 1)
      await ask(`{ package(agentKey: "agent_${n}") { active { files { relativePath } } } }`);
    expect(recording.statements.length).toBeGreaterThan(9);
  });
});
