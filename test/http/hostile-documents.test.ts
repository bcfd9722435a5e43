import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startTestServer, type TestServer } from '../support/http.ts';
import { loadVersion } from '../support/knowledge.ts';

let database: TestDatabase;
let server: TestServer;

beforeAll(async () => {
  database = await createTestDatabase();
  server = await startTestServer(database);
  await loadVersion(database, { agentKey: 'agent', files: { 'a.md': 'text' } });
  // What a first request costs is no part of what a hostile one may cost.
  for (let n = 0; n < 20; n += 1)
    await server.post(`{ packages { agentKey versions { nodes { checksum } } } }`);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

function repeat(count: number, text: (n: number) => string): string {
  return Array.from({ length: count }, (_, n) => text(n)).join(' ');
}

/** Fragments that each spread the next one twice, over a type that can reach itself: 2^levels fields. */
function doubling(levels: number): string {
  const fragments = repeat(
    levels,
    (n) => `fragment f${n} on __Type { a: ofType { ...f${n + 1} } b: ofType { ...f${n + 1} } }`,
  );
  return `{ __type(name: "Query") { ...f0 } } ${fragments} fragment f${levels} on __Type { name }`;
}

/** The same in place: no type of ours reaches itself, so the spreads stand side by side. */
function doublingInPlace(levels: number): string {
  const fragments = repeat(levels, (n) => `fragment f${n} on KnowledgePackage { ...f${n + 1} ...f${n + 1} }`);
  return `{ packages { ...f0 } } ${fragments} fragment f${levels} on KnowledgePackage { agentKey }`;
}

/** Each fragment spreads the next one ten times, each time under another name of a connection. */
function fanOut(levels: number): string {
  const fragment = (n: number) =>
    `fragment f${n} on Query { ${repeat(10, (k) => `...f${n + 1} p${n}_${k}: packages { agentKey }`)} }`;
  return `{ ...f0 } ${repeat(levels, fragment)} fragment f${levels} on Query { __typename }`;
}

function nested(depth: number): string {
  return `{ __type(name: "Query") { ${'ofType { '.repeat(depth)} name ${'} '.repeat(depth)} } }`;
}

const corpus: Readonly<Record<string, string>> = {
  ...Object.fromEntries([8, 15, 20, 25, 30].map((n) => [`fragment doubling ${n}`, doubling(n)])),
  ...Object.fromEntries([8, 15, 25, 30].map((n) => [`fragment doubling in place ${n}`, doublingInPlace(n)])),
  ...Object.fromEntries([3, 6, 12].map((n) => [`fan-out 10 × ${n}`, fanOut(n)])),
  'fragment cycle': 'fragment a on Query { ...b } fragment b on Query { ...a } { ...a }',
  'fragment that spreads itself':
    'fragment a on KnowledgePackage { versions { nodes { checksum } } ...a } { packages { ...a } }',
  'fragment chain 3,000': `{ ...f0 } ${repeat(3000, (n) => `fragment f${n} on Query { ...f${n + 1} }`)} fragment f3000 on Query { __typename }`,
  'depth 15': nested(15),
  'depth 200': nested(200),
  'depth 2,000': nested(2000),
  'depth 20,000': nested(10_000),
  'brackets 100,000 deep': `{ packages(environment: ${'['.repeat(100_000)}${']'.repeat(100_000)}) { agentKey } }`,
  'braces 50,000 deep': '{ a '.repeat(50_000),
  'aliases 250': `{ ${repeat(250, (n) => `a${n}: packages { agentKey }`)} }`,
  'aliases 1,000': `{ ${repeat(1000, (n) => `a${n}: packages { agentKey }`)} }`,
  'aliases 7,000': `{ ${repeat(7000, (n) => `a${n}: packages { agentKey }`)} }`,
  'one field 5,000 times': `{ packages { ${'agentKey '.repeat(5000)} } }`,
  'one field 900 times': `{ packages { ${'agentKey '.repeat(900)} } }`,
  '__typename 5,000 times': `{ ${'__typename '.repeat(5000)} }`,
  'nested overlaps': `{ ${repeat(60, () => `packages { ${repeat(2, () => 'versions { nodes { checksum } }')} }`)} }`,
  'unknown directives': `{ packages ${'@no '.repeat(450)} { agentKey } }`,
  'known directives 5,000 times': `{ packages ${'@skip(if: false) '.repeat(5000)} { agentKey } }`,
  'known directives within the tokens': `{ packages ${'@skip(if: false) '.repeat(150)} { agentKey } }`,
  'unknown fields 5,000': `{ packages { ${repeat(5000, (n) => `no${n}`)} } }`,
  'unknown fields 900': `{ packages { ${repeat(900, (n) => `no${n}`)} } }`,
  'list of 10^9': '{ versions(agentKey: "agent", first: 1000000000) { nodes { files { content } } } }',
  'list of 10^12': '{ versions(agentKey: "agent", first: 1000000000000) { totalCount } }',
  'list of -1': '{ versions(agentKey: "agent", first: -1) { totalCount } }',
  'contents of 200 versions': '{ versions(agentKey: "agent", first: 200) { nodes { files { content } } } }',
  'contents of everything': '{ packages { versions(first: 200) { nodes { files { content } } } } }',
  'introspection nested 10': `{ __schema { types { ${'fields { type { '.repeat(10)} name ${'} }'.repeat(10)} } } }`,
  'introspection by aliases': `{ ${repeat(80, (n) => `s${n}: __schema { types { fields { name } } }`)} }`,
  '25 operations': repeat(25, (n) => `query q${n} { packages { agentKey } }`),
  'string of 200 KB': `{ package(agentKey: "${'x'.repeat(200_000)}") { agentKey } }`,
  'block string of 200 KB': `{ package(agentKey: """${'\n  x'.repeat(50_000)}""") { agentKey } }`,
  '80,000 comments': `{ __typename } ${'#\n'.repeat(80_000)}`,
  'one comment of 200 KB': `{ packages { agentKey ${'#'.repeat(200_000)}\n no } }`,
  'commas of 200 KB': `{ packages { no ${','.repeat(200_000)} } }`,
  'variables 900': `query (${repeat(220, (n) => `$v${n}: Int`)}) { __typename }`,
  'subscription doubling': doublingInPlace(20).replace('{', 'subscription {'),
  'mutation aliases': `mutation { ${repeat(250, (n) => `m${n}: hold(agentKey: "agent", reason: "x") { generation }`)} }`,
  'control characters': '{ packages { \u0000\u0007\u001B } }',
};

describe('a hostile document', () => {
  for (const [name, document] of Object.entries(corpus)) {
    it(`is refused in time: ${name}`, async () => {
      const times: number[] = [];
      for (let n = 0; n < 3; n += 1) {
        const before = performance.now();
        const response = await server.post(document);
        const text = await response.text();
        times.push(performance.now() - before);
        expect(response.status).toBeLessThan(500);
        const { errors, data } = JSON.parse(text);
        expect(data ?? null).toBeNull();
        expect(errors[0].extensions.code).toMatch(/^(BAD_USER_INPUT|NOT_FOUND)$/);
      }
      // The machine may be busy with other things once; being slow by itself would show each time.
      expect(Math.min(...times)).toBeLessThan(100);
    });

    it(`tells an anonymous sender nothing but that a key is needed: ${name}`, async () => {
      const response = await fetch(`${server.url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ query: document }),
      });
      const { errors } = (await response.json()) as {
        errors: { message: string; extensions: { code: string } }[];
      };
      expect(response.status).toBe(401);
      expect(errors).toMatchObject([
        {
          message: 'A valid key is needed: send it as "Authorization: Bearer <key>".',
          extensions: { code: 'UNAUTHENTICATED' },
        },
      ]);
    });
  }

  it('leaves memory flat and other callers alone', async () => {
    const before = process.memoryUsage().rss;
    const probes: number[] = [];
    const documents = Object.values(corpus);
    for (let round = 0; round < 3; round += 1) {
      const attack = Promise.all(documents.map(async (document) => (await server.post(document)).text()));
      for (let n = 0; n < 20; n += 1) {
        const began = performance.now();
        const response = await server.post('{ activeVersion(agentKey: "agent") { checksum } }');
        expect(((await response.json()) as { errors?: unknown }).errors).toBeUndefined();
        probes.push(performance.now() - began);
      }
      await attack;
    }
    const grown = (process.memoryUsage().rss - before) / 1024 / 1024;
    expect(grown).toBeLessThan(150);
    expect(probes.toSorted((a, b) => a - b)[Math.floor(probes.length * 0.9)]).toBeLessThan(1500);
  });
});
