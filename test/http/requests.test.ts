import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { makeKey, startTestServer, type TestServer } from '../support/http.ts';
import { loadVersion } from '../support/knowledge.ts';

let database: TestDatabase;
let server: TestServer;

beforeAll(async () => {
  database = await createTestDatabase();
  server = await startTestServer(database);
  await loadVersion(database, { agentKey: 'agent', files: { 'a.md': '😀 text\n' } });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

const query = '{ activeVersion(agentKey: "agent") { knowledgeVersion } }';
const json = { 'content-type': 'application/json' };

function postBytes(body: RequestInit['body'], headers: Record<string, string> = json): Promise<Response> {
  return server.send('/graphql', { method: 'POST', headers, body: body ?? null });
}

function filled(bytes: number): string {
  const start = `{"query":"{ __typename }","extensions":{"x":"`;
  return `${start}${'x'.repeat(bytes - start.length - 3)}"}}`;
}

function get(parameters: Record<string, string>): Promise<Response> {
  return server.send(`/graphql?${new URLSearchParams(parameters)}`);
}

/** Asks for an answer of this type. */
function accepting(accept: string, document = query): Promise<Response> {
  return postBytes(JSON.stringify({ query: document }), { ...json, accept });
}

/** Asks with this header, or without any. */
function authorized(authorization?: string): Promise<Response> {
  return fetch(`${server.url}/graphql`, {
    method: 'POST',
    headers: { ...json, ...(authorization === undefined ? {} : { authorization }) },
    body: JSON.stringify({ query }),
  });
}

async function codeOf(response: Response): Promise<unknown> {
  const { errors } = (await response.json()) as { errors?: { extensions: { code: string } }[] };
  return errors?.[0]?.extensions.code;
}

describe('a POST', () => {
  it('is answered, with headers that make nothing of it but data', async () => {
    const response = await server.post(query);
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ data: { activeVersion: { knowledgeVersion: 'v1' } } });
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
      'content-security-policy': "default-src 'none'",
      'x-content-type-options': 'nosniff',
    });
    expect(response.headers.get('access-control-allow-origin')).toBeNull();
  });

  it.each([
    ['application/json', 200],
    ['application/json; charset=utf-8', 200],
    ['application/json;charset=UTF-8', 200],
    ['APPLICATION/JSON; charset="utf-8"', 200],
    ['application/json; charset=utf-16', 415],
    ['application/json; charset=latin1', 415],
    ['application/jsonp', 415],
    ['text/plain', 415],
    ['text/plain; application/json', 415],
    ['application/graphql', 415],
    ['application/graphql+json', 415],
    ['application/x-www-form-urlencoded', 415],
    ['multipart/form-data; boundary=x', 415],
    ['', 415],
  ])('of type %j is answered %d', async (type, status) => {
    const response = await postBytes(JSON.stringify({ query }), { 'content-type': type });
    expect(response.status).toBe(status);
    expect(await codeOf(response)).toBe(status === 200 ? undefined : 'BAD_USER_INPUT');
  });

  it('without a type is refused', async () => {
    const response = await server.send('/graphql', {
      method: 'POST',
      body: Buffer.from(JSON.stringify({ query })),
    });
    expect(response.status).toBe(415);
  });

  it.each<[string, string | Uint8Array<ArrayBuffer>]>([
    ['nothing', ''],
    ['text', 'query'],
    ['cut off', '{"query":"{ __typename }"'],
    ['an array', `[${JSON.stringify({ query })}]`],
    ['null', 'null'],
    ['a number', '5'],
    ['a string', '"query"'],
    ['no query', '{}'],
    ['a query that is no text', '{"query":5}'],
    ['a query that is a list', '{"query":["{ __typename }"]}'],
    ['variables that are a list', '{"query":"{ __typename }","variables":[]}'],
    ['variables that are text', '{"query":"{ __typename }","variables":"{}"}'],
    ['an operation name that is a number', '{"query":"{ __typename }","operationName":1}'],
    ['a parameter that is none', '{"query":"{ __typename }","doc_id":"1"}'],
    ['an inherited name', '{"query":"{ __typename }","__proto__":{}}'],
    ['a parameter twice', '{"query":"{ a }","query":"{ __typename }"}'],
    ['a variable twice', '{"query":"{ __typename }","variables":{"a":1,"b":{"c":1,"c":2}}}'],
    [
      'brackets 100,000 deep',
      `{"query":"{ __typename }","variables":{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}}`,
    ],
    ['brackets 120,000 deep, unclosed', '['.repeat(120_000)],
    ['a byte-order mark', Buffer.from('\uFEFF{"query":"{ __typename }"}')],
    ['UTF-16', Buffer.from('{"query":"{ __typename }"}', 'utf16le')],
    ['a cut-off character', Buffer.from('{"query":"{ __typename }","operationName":"é"}').subarray(0, -3)],
    [
      'an overlong character',
      Buffer.concat([Buffer.from('{"query":"'), Buffer.from([0xc0, 0xaf]), Buffer.from('"}')]),
    ],
    [
      'a lone surrogate',
      Buffer.concat([Buffer.from('{"query":"'), Buffer.from([0xed, 0xa0, 0x80]), Buffer.from('"}')]),
    ],
    ['Latin-1', Buffer.from('{"query":"# é\n{ __typename }"}', 'latin1')],
  ])('whose body is %s is refused in time', async (_what, body) => {
    const before = performance.now();
    const response = await postBytes(body);
    expect(performance.now() - before).toBeLessThan(1000);
    expect(response.status).toBe(400);
    expect(await codeOf(response)).toBe('BAD_USER_INPUT');
  });

  it('may carry what JSON may: nulls, extensions, escapes', async () => {
    const body = { query, variables: null, operationName: null, extensions: { any: 1 } };
    expect((await postBytes(JSON.stringify(body))).status).toBe(200);
    const response = await postBytes('{"query":"{ package(agentKey: \\"\\ud83d\\ude00\\") { agentKey } }"}');
    expect(await codeOf(response)).toBe('NOT_FOUND');
  });

  it('cannot carry text that a database would have to alter', async () => {
    const document = 'query ($k: String!) { package(agentKey: $k) { agentKey } }';
    for (const k of ['\\ud800', 'a\\u0000b']) {
      const response = await postBytes(`{"query":"${document}","variables":{"k":"${k}"}}`);
      expect(await codeOf(response)).toBe('BAD_USER_INPUT');
    }
  });

  it('of 256 KiB is answered, and one byte more is not', async () => {
    expect((await postBytes(filled(262_144))).status).toBe(200);
    const over = await postBytes(filled(262_145));
    expect(over.status).toBe(413);
    expect(await codeOf(over)).toBe('BAD_USER_INPUT');
    expect(over.headers.get('connection')).toBe('close');
    expect((await postBytes(filled(900_000))).status).toBe(413);
  });

  it('must not be compressed', async () => {
    for (const encoding of ['gzip', 'deflate', 'br', 'zstd', 'gzip, identity', 'x']) {
      const response = await postBytes(JSON.stringify({ query }), { ...json, 'content-encoding': encoding });
      expect(response.status, encoding).toBe(415);
    }
    const plain = await postBytes(JSON.stringify({ query }), { ...json, 'content-encoding': 'identity' });
    expect(plain.status).toBe(200);
  });
});

describe('a GET', () => {
  it('answers queries', async () => {
    const response = await get({
      query:
        'query a($k: String!) { activeVersion(agentKey: $k) { knowledgeVersion } } query b { __typename }',
      operationName: 'a',
      variables: '{"k":"agent"}',
    });
    expect(await response.json()).toEqual({ data: { activeVersion: { knowledgeVersion: 'v1' } } });
  });

  it('changes nothing', async () => {
    const response = await get({ query: 'mutation { hold(agentKey: "agent", reason: "x") { generation } }' });
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe('POST');
    const { data } = (await (
      await server.post('{ package(agentKey: "agent") { hold { reason } } }')
    ).json()) as { data: unknown };
    expect(data).toEqual({ package: { hold: null } });
  });

  it('refuses parameters that are wrong', async () => {
    for (const parameters of [
      {},
      { query: '' },
      { query, variables: '{' },
      { query, variables: '[]' },
      { query, extra: '1' },
    ]) {
      const response = await get(parameters);
      expect(response.status).toBe(400);
      expect(await codeOf(response)).toBe('BAD_USER_INPUT');
    }
    const twice = await server.send(`/graphql?query=${encodeURIComponent(query)}&query={__typename}`);
    expect(twice.status).toBe(400);
  });
});

describe('other requests', () => {
  it('with other methods are refused', async () => {
    for (const method of ['PUT', 'DELETE', 'PATCH', 'OPTIONS', 'HEAD']) {
      const response = await server.send('/graphql', { method });
      expect(response.status, method).toBe(405);
      expect(response.headers.get('allow')).toBe('GET, POST');
      expect(response.headers.get('access-control-allow-methods')).toBeNull();
    }
  });

  it('to other paths find nothing', async () => {
    for (const path of [
      '/',
      '/graphql/',
      '/graphql/x',
      '/Graphql',
      '/%67raphql',
      '/healthz/',
      '//graphql',
      '/api/v1',
      '/health',
    ]) {
      const response = await server.send(path, {
        method: 'POST',
        headers: json,
        body: JSON.stringify({ query }),
      });
      expect(response.status, path).toBe(404);
      expect(await codeOf(response)).toBe('NOT_FOUND');
    }
  });
});

describe('an answer', () => {
  it('is of the type that was asked for', async () => {
    for (const [accept, type] of [
      ['*/*', 'application/json'],
      ['application/json', 'application/json'],
      ['application/graphql-response+json', 'application/graphql-response+json'],
      ['application/graphql-response+json, application/json;q=0.9', 'application/graphql-response+json'],
    ] as const) {
      const response = await accepting(accept);
      expect(response.headers.get('content-type')).toBe(`${type}; charset=utf-8`);
    }
    expect((await accepting('text/html')).status).toBe(406);
    for (const accept of ['text/event-stream', 'multipart/mixed', 'image/*', 'x', ';', '']) {
      const response = await accepting(accept);
      expect([200, 406], accept).toContain(response.status);
      expect(await response.text()).toMatch(/^$|knowledgeVersion/);
    }
  });

  it('is 200 for JSON and as the specification says for the type of its own', async () => {
    for (const document of ['{', '{ nothing }', '{ package { agentKey } }']) {
      expect((await accepting('application/json', document)).status).toBe(200);
      expect((await accepting('application/graphql-response+json', document)).status).toBe(400);
    }
    const refused = '{ package(agentKey: "nobody") { agentKey } }';
    expect((await accepting('application/json', refused)).status).toBe(200);
    expect((await accepting('application/graphql-response+json', refused)).status).toBe(200);
  });

  it('echoes a harmless request id and makes one otherwise', async () => {
    const uuidv7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
    for (const id of ['a', 'Trace-1.2_3', 'x'.repeat(64)]) {
      const response = await server.send('/healthz', { headers: { 'x-request-id': id } });
      expect(response.headers.get('x-request-id')).toBe(id);
    }
    for (const id of ['', 'x'.repeat(65), 'a b', 'a/b', '<script>', 'ä', 'a,b', '%0d%0a']) {
      const response = await server.send('/healthz', { headers: { 'x-request-id': id } });
      expect(response.headers.get('x-request-id'), id).toMatch(uuidv7);
    }
  });
});

describe('a caller', () => {
  it('without a valid key is refused in the same words, whatever is wrong with it', async () => {
    const expired = await makeKey(database, { expiresAt: new Date(Date.now() + 50) });
    await new Promise((resolve) => setTimeout(resolve, 100));
    const wrong = server.key.replace(/.$/, '_');
    const texts = new Set<string>();
    for (const authorization of [
      undefined,
      '',
      'Bearer',
      'Bearer ',
      server.key,
      `Basic ${server.key}`,
      `Bearer ${server.key} x`,
      `Bearer ${wrong}`,
      `Bearer ak_unknown_secret`,
      `Bearer ${expired}`,
      `Bearer ${'x'.repeat(8000)}`,
      `Bearer '; drop table api_key; --`,
    ]) {
      const response = await authorized(authorization);
      expect(response.status, authorization).toBe(401);
      expect(response.headers.get('www-authenticate')).toBe('Bearer');
      const text = await response.text();
      texts.add(text.replace(/"requestId":"[^"]+"/, ''));
    }
    expect(texts.size).toBe(1);
  });

  it('is known by its key, in any letter case of the scheme', async () => {
    for (const scheme of ['Bearer', 'bearer', 'BEARER']) {
      expect((await authorized(`${scheme} ${server.key}`)).status).toBe(200);
    }
  });

  it('learns nothing of the schema without a key: introspection, typos and nonsense are one answer', async () => {
    const texts = new Set<string>();
    for (const document of ['{ __schema { types { name } } }', '{ pakages { agentKey } }', '{', query]) {
      const response = await fetch(`${server.url}/graphql`, {
        method: 'POST',
        headers: json,
        body: JSON.stringify({ query: document }),
      });
      texts.add((await response.text()).replace(/"requestId":"[^"]+"/, ''));
    }
    const malformed = await fetch(`${server.url}/graphql`, { method: 'POST', headers: json, body: '{"qu' });
    texts.add((await malformed.text()).replace(/"requestId":"[^"]+"/, ''));
    expect(texts.size).toBe(1);
    const known = (await (await server.post('{ pakages { agentKey } }')).json()) as {
      errors: { message: string }[];
    };
    expect(known.errors[0]?.message).toContain('Did you mean "packages"');
  });
});

describe('the log', () => {
  it('has one line per request, and never a key, a query, a body or content', async () => {
    server.logger.lines.length = 0;
    await server.send('/graphql?query={activeVersion(agentKey:"agent"){files{content}}}', {
      headers: { 'x-request-id': 'logged' },
    });
    await postBytes(JSON.stringify({ query: '{ canaryOfABody }' }));
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(server.logger.lines).toHaveLength(2);
    expect(server.logger.lines[0]).toEqual({
      level: 'debug',
      message: 'A request was answered.',
      fields: {
        requestId: 'logged',
        method: 'GET',
        path: '/graphql',
        status: 200,
        durationMs: expect.any(Number),
      },
    });
    const text = JSON.stringify(server.logger.lines);
    for (const secret of ['canary', server.key, 'agentKey', 'text', 'Bearer'])
      expect(text).not.toContain(secret);
  });
});
