import { auditServer } from 'graphql-http';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startTestServer, withKey, type TestServer } from '../support/http.ts';

let database: TestDatabase;
let server: TestServer;

beforeAll(async () => {
  database = await createTestDatabase();
  server = await startTestServer(database);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

it('passes every audit of the GraphQL over HTTP specification', async () => {
  const results = await auditServer({
    url: `${server.url}/graphql`,
    fetchFn: withKey(server.key),
  });
  const failed = results
    .filter((result) => result.status !== 'ok')
    .map((result) => `${result.status} ${result.name}: ${'reason' in result ? result.reason : ''}`);
  expect(results.length).toBeGreaterThan(50);
  expect(failed).toEqual([]);
});
