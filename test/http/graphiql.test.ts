import { createHash } from 'node:crypto';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import {
  buildSchema,
  getVariableValues,
  GraphQLSchema,
  parse,
  printSchema,
  validate,
  type OperationDefinitionNode,
} from 'graphql';
import { get } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createPriceCheck } from '../../schema/price.ts';
import { schema } from '../../schema/schema.ts';
import { scopes, type Scope } from '../../src/core/permissions.ts';
import { graphiqlTabs, type GraphiqlTab } from '../../src/http/graphiql-tabs.ts';
import { readExamplePackage } from '../../src/operations/read-example-package.ts';
import { caller, createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startTestServer, type TestServer } from '../support/http.ts';
import { loadVersion } from '../support/knowledge.ts';
import { signInTo, type SignedInBrowser } from '../support/sign-in.ts';

let database: TestDatabase;
let server: TestServer;
let signedIn: SignedInBrowser;
beforeAll(async () => {
  database = await createTestDatabase();
  server = await startTestServer(database);
  await loadVersion(database, { agentKey: 'beta', files: { 'b.md': 'one\n' } });
  await loadVersion(database, { agentKey: 'beta', files: { 'b.md': 'two\n' } });
  await loadVersion(database, { agentKey: 'alpha', environment: 'dev', files: { 'a.md': 'one\n' } });
  signedIn = await signInTo(database, server.url);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

const html = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

/** Asks for the page as it is sent, nothing unpacked. */
function askPage(headers: Record<string, string> = {}, path = '/graphql') {
  const { promise, resolve, reject } = Promise.withResolvers<{
    status: number;
    headers: Record<string, unknown>;
    body: Buffer;
  }>();
  get(
    `${server.url}${path}`,
    { headers: { accept: html, cookie: signedIn.cookie, ...headers } },
    (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: Buffer.concat(chunks),
        }),
      );
    },
  ).on('error', reject);
  return promise;
}

describe('the page', () => {
  it('runs one script, the one that its policy names, and asks nobody else (T50)', async () => {
    const { status, headers, body } = await askPage();
    const text = body.toString();
    const script = /<script>([^]*)<\/script>/.exec(text)?.[1] ?? '';
    const hash = createHash('sha256').update(script).digest('base64');
    expect(status).toBe(200);
    expect(script.length).toBeGreaterThan(1_000_000);
    expect(headers['content-security-policy']).toBe(
      `default-src 'none'; script-src 'sha256-${hash}'; worker-src blob:; style-src 'unsafe-inline'; font-src data:; img-src data: 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    );
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'cache-control': 'private, no-cache',
      'cross-origin-opener-policy': 'same-origin',
    });
    expect(text).not.toContain(signedIn.csrfToken);
  });

  it('is the same for everybody, and sent once to whoever keeps it', async () => {
    const other = await signInTo(database, server.url, { name: 'Ben', scopes: ['knowledge:read'] });
    const [mine, its] = [await askPage(), await askPage({ cookie: other.cookie })];
    expect(its.body.equals(mine.body)).toBe(true);
    const etag = String(mine.headers['etag']);
    expect(etag).toMatch(/^"[0-9a-f]{64}"$/);
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`]) {
      const again = await askPage({ 'if-none-match': known });
      expect([again.status, again.body.length, again.headers['etag']]).toEqual([304, 0, etag]);
    }
    expect((await askPage({ 'if-none-match': '"other"' })).status).toBe(200);
  });

  it('is compressed as the browser likes, to a fraction', async () => {
    const plain = await askPage({ 'accept-encoding': 'identity' });
    expect(plain.headers['content-encoding']).toBeUndefined();
    const brotli = await askPage({ 'accept-encoding': 'gzip, deflate, br, zstd' });
    expect(brotli.headers['content-encoding']).toBe('br');
    const gzip = await askPage({ 'accept-encoding': 'gzip, br;q=0' });
    expect(gzip.headers['content-encoding']).toBe('gzip');
    expect(brotliDecompressSync(brotli.body).equals(plain.body)).toBe(true);
    expect(gunzipSync(gzip.body).equals(plain.body)).toBe(true);
    expect(brotli.body.length * 4).toBeLessThan(plain.body.length);
  });

  it('is a signed-in browser’s; another one is told how to sign in', async () => {
    const response = await askPage({ cookie: '' });
    expect(response.status).toBe(401);
    expect(response.body.toString()).toContain('npx agent-knowledge login');
    expect(response.headers['cache-control']).toBe('no-store');
  });

  it('loads again by itself where a browser came from another site and kept the cookie back', async () => {
    const response = await askPage({ cookie: '', 'sec-fetch-site': 'cross-site' });
    expect(response.status).toBe(200);
    expect(response.body.toString()).toContain('<meta http-equiv="refresh" content="0">');
    expect((await askPage({ cookie: '', 'sec-fetch-site': 'same-origin' })).status).toBe(401);
  });

  it.each([
    'application/json',
    '*/*',
    'text/html, application/json',
    'application/graphql-response+json, text/html',
    '',
  ])('is not sent to a program that accepts %j', async (accept) => {
    const response = await askPage({ accept });
    expect(String(response.headers['content-type'])).toMatch(/^application\//);
  });

  it('is where the address of the server alone leads', async () => {
    const response = await askPage({}, '/');
    expect([response.status, response.headers['location']]).toEqual([302, './graphql']);
  });
});

describe('its settings', () => {
  const ask = (headers: Record<string, string> = {}) =>
    fetch(`${server.url}/graphiql/settings`, {
      headers: { cookie: signedIn.cookie, 'x-graphql-preflight': '1', ...headers },
    });

  it('say who is signed in with which rights, until when, and bring the tabs', async () => {
    const limited = await signInTo(database, server.url, {
      name: 'Ben',
      scopes: ['knowledge:read'],
      agents: ['beta'],
      environments: ['production'],
    });
    const response = await ask({ cookie: limited.cookie });
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(await response.json()).toEqual({
      csrfToken: limited.csrfToken,
      name: 'Ben',
      expiresAt: expect.stringMatching(/Z$/) as string,
      rights: 'knowledge:read (beta, production only)',
      tabs: expect.any(Array) as unknown[],
    });
    expect(await (await ask()).json()).toMatchObject({ name: 'Anna', rights: 'everything' });
  });

  it('are refused without a sign-in, and to every page but ours', async () => {
    expect((await ask({ cookie: '' })).status).toBe(401);
    expect((await ask({ 'sec-fetch-site': 'same-origin' })).status).toBe(200);
    for (const foreign of [{ 'sec-fetch-site': 'same-site' }, { origin: 'http://localhost:1' }])
      expect((await ask(foreign as Record<string, string>)).status).toBe(403);
    const bare = await fetch(`${server.url}/graphiql/settings`, { headers: { cookie: signedIn.cookie } });
    expect(bare.status).toBe(403);
  });
});

const example = { agentKey: 'beta', environment: 'production', activeNumber: 4, newestNumber: 5 };

/** What keeps a tab from being run as it stands. */
function faultsOf(tab: GraphiqlTab, of: GraphQLSchema): string[] {
  const document = parse(tab.query);
  const invalid = validate(of, document).map((error) => error.message);
  if (invalid.length > 0) return invalid;
  const operation = document.definitions[0] as OperationDefinitionNode;
  const given = JSON.parse(tab.variables) as Record<string, unknown>;
  const unknown = Object.keys(given).filter(
    (name) => !operation.variableDefinitions?.some(({ variable }) => variable.name.value === name),
  );
  const { errors } = getVariableValues(of, operation.variableDefinitions ?? [], given);
  const price = createPriceCheck(of)({ document, variables: given });
  return [
    ...unknown.map((name) => `${name} is no variable`),
    ...(errors ?? []).map((error) => error.message),
    ...(price === null ? [] : [price.message]),
  ];
}

function nameOf({ query }: GraphiqlTab): string {
  return (parse(query).definitions[0] as OperationDefinitionNode).name?.value ?? '';
}

describe('its tabs', () => {
  const everything = caller(1, ['admin']);

  it('stand in their order, with names, words and variables', () => {
    const tabs = graphiqlTabs(everything, example);
    expect(tabs.map(nameOf)).toEqual([
      'WhatMyAgentGets',
      'History',
      'Refresh',
      'RollBack',
      'LetGo',
      'CompareVersions',
      'WatchChanges',
    ]);
    for (const tab of tabs) {
      expect(tab.query).toMatch(/^# [A-Z ?]+\n# [A-Z]/);
      expect(tab.query).toContain('press the play button, or Ctrl-Enter'.slice(6));
    }
    const variables = tabs.map((tab) => JSON.parse(tab.variables) as Record<string, unknown>);
    for (const one of variables) expect(one).toMatchObject({ agentKey: 'beta', environment: 'production' });
    expect(variables[3]).toMatchObject({
      knowledgeVersion: 'v3',
      reason: 'Agents answer wrongly since the last change; looking into it',
    });
    expect(variables[5]).toMatchObject({ from: 'v4', to: 'v5' });
  });

  it.each([
    example,
    { ...example, activeNumber: 1, newestNumber: 1 },
    { ...example, activeNumber: null, newestNumber: 0 },
    null,
  ])('can all be run as they stand, whatever there is to show: %j', (found) => {
    for (const tab of graphiqlTabs(everything, found))
      expect([nameOf(tab), faultsOf(tab, schema)]).toEqual([nameOf(tab), []]);
  });

  it('would be found out by this test where the schema or a price changed (control)', () => {
    const faulty = (of: GraphQLSchema) =>
      graphiqlTabs(everything, example)
        .filter((tab) => faultsOf(tab, of).length > 0)
        .map(nameOf);
    const renamed = buildSchema(printSchema(schema).replace('unified: String!', 'changes: String!'));
    expect(faulty(renamed)).toEqual(['CompareVersions']);
    const stricter = buildSchema(
      printSchema(schema)
        .replace(/(hold\([^]*?reason: String)!/, '$1!')
        .replace('release(', 'letGo('),
    );
    expect(faulty(stricter)).toEqual(['LetGo']);
    const dear = new GraphQLSchema(schema.toConfig());
    const field = dear.getQueryType()!.getFields()['versionDiff']!;
    const { extensions } = field;
    field.extensions = { ...extensions, complexity: 9999 };
    expect(faulty(dear)).toEqual(['CompareVersions']);
    field.extensions = extensions;
  });

  it.each(scopes)('hold nothing that would be refused to somebody with %s alone', (scope) => {
    const roots = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()];
    const fields = Object.assign({}, ...roots.map((root) => root?.getFields() ?? {})) as Record<
      string,
      { extensions: { scope?: Scope } }
    >;
    const tabs = graphiqlTabs(caller(1, [scope]), example);
    for (const tab of tabs) {
      const operation = parse(tab.query).definitions[0] as OperationDefinitionNode;
      const [root] = operation.selectionSet.selections;
      const name = root?.kind === 'Field' ? root.name.value : '';
      expect([name, scope === 'admin' || fields[name]?.extensions.scope === scope]).toEqual([name, true]);
    }
    const counts = {
      admin: 7,
      'knowledge:read': 4,
      'ai.knowledge.refresh': 1,
      'ai.knowledge.rollback': 2,
      'runs:write': 0,
    };
    expect(tabs).toHaveLength(counts[scope]);
  });

  it('show a package that is there and that the caller may see', async () => {
    const of = (bounds: { agents?: string[]; environments?: string[] }, scope: Scope = 'admin') =>
      readExamplePackage(database.context({ caller: caller(1, [scope], bounds) }));
    const beta = { agentKey: 'beta', environment: 'production', activeNumber: 2, newestNumber: 2 };
    // alpha comes first by name and has no version in production.
    expect(await of({})).toEqual(beta);
    expect(await of({ environments: ['dev'] })).toEqual({
      agentKey: 'alpha',
      environment: 'dev',
      activeNumber: 1,
      newestNumber: 1,
    });
    expect(await of({ agents: ['alpha'] })).toMatchObject({ agentKey: 'alpha', newestNumber: 0 });
    expect(await of({ agents: ['nobody'] })).toBeNull();
    expect(await of({}, 'ai.knowledge.refresh')).toBeNull();
  });
});
