import { buildSchema, execute, getIntrospectionQuery, parse, type DocumentNode } from 'graphql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createPriceCheck, limits, priceOf } from '../../schema/price.ts';
import { schema } from '../../schema/schema.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { codesOf, createAsk, type Ask } from '../support/graphql.ts';

let database: TestDatabase;
let ask: Ask;

beforeAll(async () => {
  database = await createTestDatabase();
  ask = createAsk(() => database.context());
});
afterAll(() => database[Symbol.asyncDispose]());

const check = createPriceCheck(schema);

function doubling(levels: number): DocumentNode {
  const fragments = Array.from(
    { length: levels },
    (_, n) => `fragment f${n} on Self { a: self { ...f${n + 1} } b: self { ...f${n + 1} } }`,
  );
  return parse(`{ self { ...f0 } } ${fragments.join(' ')} fragment f${levels} on Self { name }`);
}

function fieldNames(count: number): string {
  const aliases = Array.from({ length: count }, (_, n) => `t${n}: __type(name: "Query") { fields { name } }`);
  return `{ ${aliases.join(' ')} }`;
}

function costOf(query: string): number {
  return priceOf(schema, { document: parse(query) }).cost;
}

const oneVersion = 'agentKey: "a", knowledgeVersion: "v1"';

describe('the price of an operation', () => {
  it.each([
    [`{ activeVersion(agentKey: "a") { knowledgeVersion files { relativePath content } } }`, 61],
    [`{ version(${oneVersion}) { files { content } } }`, 61],
    [`{ versions(agentKey: "a") { nodes { knowledgeVersion files { relativePath checksum } } } }`, 551],
    [`{ versions(agentKey: "a", first: 200) { nodes { files { relativePath } } } }`, 2201],
    [`{ versions(agentKey: "a", first: 200) { nodes { knowledgeVersion checksum } totalCount } }`, 201],
    [
      `{ versions(agentKey: "a", first: 10) { edges { cursor node { knowledgeVersion } } pageInfo { endCursor } } }`,
      31,
    ],
    [`{ packages { agentKey active { knowledgeVersion } newest { checksum } sourceStatus { state } } }`, 151],
    [`{ auditEvents(first: 200) { nodes { hash } totalCount } }`, 201],
  ])('%s costs %d', (query, cost) => {
    expect(costOf(query)).toBe(cost);
  });

  it('takes first from variables, and what first may not be for the nearest it may be', () => {
    const query = `{ versions(agentKey: "a", first: 1000000000) { nodes { checksum } } }`;
    expect(costOf(query)).toBe(201);
    expect(costOf(query.replace('1000000000', '-5'))).toBe(2);
    const document = parse(
      `query ($first: Int) { ${Array.from({ length: 30 }, (_, n) => `v${n}: versions(agentKey: "a", first: $first) { nodes { checksum } }`).join(' ')} }`,
    );
    expect(check({ document, variables: { first: 1 } })).toBeNull();
    expect(check({ document, variables: { first: 200 } })?.message).toContain('costs 6030');
    expect(check({ document, variables: {} })).toBeNull();
    expect(check({ document, variables: { first: 'many' } })?.message).toContain('first');
  });

  it('is refused above the limits, before anything runs, with what was found and what is accepted', async () => {
    const answer = await ask(`{ versions(agentKey: "a", first: 200) { nodes { files { content } } } }`);
    expect(answer.data).toBeUndefined();
    expect(answer.errors).toMatchObject([
      {
        message: 'This operation costs 12201; at most 5000 is accepted.',
        extensions: { code: 'BAD_USER_INPUT', price: { cost: 12201 }, limits },
      },
    ]);
  });

  it('judges the operation that is to run, not another one of the document', async () => {
    const document = `query cheap { packages { agentKey } }
      query dear { versions(agentKey: "a", first: 200) { nodes { files { content } } } }`;
    expect((await ask(document, {}, { operationName: 'cheap' })).errors).toBeUndefined();
    expect(codesOf(await ask(document, {}, { operationName: 'dear' }))).toEqual(['BAD_USER_INPUT']);
    expect((await ask(document, {}, { operationName: 'neither' })).data).toBeUndefined();
    expect((await ask(document)).data).toBeUndefined();
  });

  it('counts a fragment each time it is spread', async () => {
    const spreads = Array.from(
      { length: 6 },
      (_, n) => `v${n}: versions(agentKey: "a", first: 20) { ...page }`,
    ).join(' ');
    const answer = await ask(
      `{ ${spreads} } fragment page on KnowledgeVersionConnection { nodes { files { content } } }`,
    );
    expect(answer.errors?.[0]?.message).toBe('This operation costs 7326; at most 5000 is accepted.');
  });
});

describe('fragments that each spread the next one twice', () => {
  const toy = buildSchema('type Query { self: Self } type Self { self: Self, name: String }');

  it('are refused in milliseconds, however much they would unfold to', () => {
    const checkToy = createPriceCheck(toy);
    const document = doubling(25);
    const before = performance.now();
    expect(checkToy({ document })?.message).toBe(
      `This operation is 27 levels deep; at most ${limits.depth} are accepted.`,
    );
    expect(performance.now() - before).toBeLessThan(50);
    expect(priceOf(toy, { document }).breadth).toBeGreaterThan(2 ** 25);
  });

  it('unfold in earnest without the check, so that this test can fail', async () => {
    const rootValue = { self: { name: 'n' } as Record<string, unknown> };
    rootValue.self['self'] = rootValue.self;
    const { data } = await execute({ schema: toy, document: doubling(12), rootValue });
    expect(JSON.stringify(data).length).toBeGreaterThan(2 ** 12 * 10);
  });
});

describe('introspection', () => {
  it('answers the whole of GraphiQL’s question', async () => {
    const all = getIntrospectionQuery({
      descriptions: true,
      specifiedByUrl: true,
      directiveIsRepeatable: true,
      schemaDescription: true,
      inputValueDeprecation: true,
      oneOf: true,
    });
    const { data, errors } = await ask(all);
    expect(errors).toBeUndefined();
    expect(data.__schema.types.length).toBeGreaterThan(20);
  });

  it.each([
    [
      'types of fields of types',
      `{ __schema { types { ${'fields { type { '.repeat(3)} name ${'} }'.repeat(3)} } } }`,
    ],
    [
      'many aliases',
      `{ __schema { ${Array.from({ length: 90 }, (_, n) => `t${n}: types { fields { name args { name } } }`).join(' ')} } }`,
    ],
    ['deep types', `{ __type(name: "Query") { ${'ofType { '.repeat(25)} name ${'} '.repeat(25)} } }`],
  ])('is refused beyond it: %s', async (_what, document) => {
    const before = performance.now();
    const answer = await ask(document);
    expect(performance.now() - before).toBeLessThan(100);
    expect(codesOf(answer)).toContain('BAD_USER_INPUT');
    expect(answer.data).toBeUndefined();
  });

  it('does not widen the limits of what is asked beside it', async () => {
    const answer = await ask(
      `{ __schema { queryType { name } } versions(agentKey: "a", first: 200) { nodes { files { content } } } }`,
    );
    expect(answer.errors?.[0]?.message).toContain('12');
    expect(codesOf(answer)).toEqual(['BAD_USER_INPUT']);
  });

  it('may use aliases for small questions only', async () => {
    expect((await ask(fieldNames(20))).errors).toBeUndefined();
    const whole = getIntrospectionQuery().replace('__schema', 'all: __schema');
    expect((await ask(whole)).errors?.[0]?.message).toMatch(/^This introspection /);
  });
});
