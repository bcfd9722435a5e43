import { isObjectType, type GraphQLField } from 'graphql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { scopes, type Scope } from '../../src/core/permissions.ts';
import { schema } from '../../schema/schema.ts';
import { caller, createTestDatabase, type TestDatabase } from '../support/database.ts';
import { codesOf, createAsk, type Ask } from '../support/graphql.ts';
import { loadVersion, registerAgent } from '../support/knowledge.ts';

let database: TestDatabase;
let ask: Ask;

beforeAll(async () => {
  database = await createTestDatabase();
  ask = createAsk(() => database.context());
  await loadVersion(database, { agentKey: 'mine', environment: 'dev', files: { 'a.md': 'mine' } });
  await loadVersion(database, { agentKey: 'theirs', environment: 'dev', files: { 'a.md': 'theirs' } });
  await loadVersion(database, { agentKey: 'mine', files: { 'a.md': 'mine in production' } });
  await registerAgent(database, { agentKey: 'mine', files: { 'a.md': '' } });
});
afterAll(() => database[Symbol.asyncDispose]());

interface RootField {
  readonly name: string;
  readonly operation: 'query' | 'mutation';
  readonly scope: Scope;
  readonly field: GraphQLField<unknown, unknown>;
}

/** Every field of Query and Mutation, as the schema has them: a new one is in every test below at once. */
const rootFields: readonly RootField[] = (['query', 'mutation'] as const).flatMap((operation) => {
  const root = schema.getRootType(operation);
  return Object.values(root?.getFields() ?? {}).map((field) => ({
    name: field.name,
    operation,
    scope: field.extensions['scope'] as Scope,
    field,
  }));
});

interface Aim {
  readonly agentKey: string;
  readonly environment: string;
}

/** A document that calls one root field of a package, with a sensible value for each argument that is required. */
function documentOf({ name, operation, field }: RootField, aim: Aim): string {
  const values: Record<string, string> = {
    agentKey: aim.agentKey,
    environment: aim.environment,
    knowledgeVersion: 'v1',
    checksum: '0'.repeat(64),
    reason: 'A test.',
    // Versions here, environments there.
    ...(name === 'versionDiff' ? { from: 'v1', to: 'v1' } : { from: aim.environment, to: 'staging' }),
  };
  const args = field.args
    .filter((arg) => arg.name in values && !(arg.name === 'reason' && name !== 'hold'))
    .map((arg) => `${arg.name}: ${JSON.stringify(values[arg.name])}`);
  const type = String(field.type).replaceAll(/[[\]!]/g, '');
  const selection = isObjectType(schema.getType(type)) ? '{ __typename }' : '';
  const waits = name === 'refresh' ? ', waitSeconds: 0' : '';
  return `${operation} { ${name}${args.length > 0 ? `(${args.join(', ')}${waits})` : ''} ${selection} }`;
}

function callWith(granted: readonly Scope[], bounds: Parameters<typeof caller>[2] = {}) {
  return database.context({ caller: caller(database.context().caller.actorId, granted, bounds) });
}

const mine: Aim = { agentKey: 'mine', environment: 'dev' };

describe('scopes', () => {
  it('are declared by every root field', () => {
    expect(rootFields.length).toBe(13);
    for (const { scope } of rootFields) expect(scopes).toContain(scope);
  });

  for (const rootField of rootFields) {
    for (const granted of scopes) {
      const allowed = granted === rootField.scope || granted === 'admin';
      it(`${rootField.name} ${allowed ? 'takes' : 'refuses'} ${granted}`, async () => {
        const answer = await ask(documentOf(rootField, mine), {}, { call: callWith([granted]) });
        if (allowed) expect(codesOf(answer)).not.toContain('FORBIDDEN');
        else
          expect(answer.errors).toMatchObject([
            { path: [rootField.name], extensions: { code: 'FORBIDDEN' } },
          ]);
        if (!allowed) expect(answer.data).toBeNull();
      });
    }

    it(`${rootField.name} refuses a key without any scope`, async () => {
      const answer = await ask(documentOf(rootField, mine), {}, { call: callWith([]) });
      expect(codesOf(answer)).toEqual(['FORBIDDEN']);
    });
  }
});

describe('a key that is bound to agents and environments', () => {
  const bounds = { agents: ['mine', 'unregistered'], environments: ['dev'] };
  const foreign: readonly Aim[] = [
    { agentKey: 'theirs', environment: 'dev' },
    { agentKey: 'mine', environment: 'production' },
    { agentKey: 'theirs', environment: 'production' },
  ];

  for (const rootField of rootFields.filter(({ field }) =>
    field.args.some((arg) => arg.name === 'agentKey'),
  )) {
    if (rootField.name === 'auditEvents') continue;

    it(`${rootField.name} is answered for its own package`, async () => {
      const own = callWith([rootField.scope], { ...bounds, environments: ['dev', 'staging'] });
      const answer = await ask(documentOf(rootField, mine), {}, { call: own });
      expect(answer.errors).toBeUndefined();
    });

    for (const aim of foreign) {
      it(`${rootField.name} says the same of ${aim.agentKey} in ${aim.environment} as of an agent that is not there`, async () => {
        const call = callWith([rootField.scope], bounds);
        const forbidden = await ask(documentOf(rootField, aim), {}, { call });
        const absent = await ask(documentOf(rootField, { ...aim, agentKey: 'nobody' }), {}, { call });
        expect(codesOf(forbidden)).toEqual(['NOT_FOUND']);
        expect(forbidden.text.replaceAll(aim.agentKey, 'nobody')).toBe(absent.text);
      });
    }

    it(`${rootField.name} says the same of an agent within its bounds that is not there`, async () => {
      const aim = { agentKey: 'unregistered', environment: 'dev' };
      const bound = await ask(documentOf(rootField, aim), {}, { call: callWith([rootField.scope], bounds) });
      const unbound = await ask(documentOf(rootField, aim), {}, { call: callWith([rootField.scope]) });
      expect(codesOf(bound)).toEqual(['NOT_FOUND']);
      expect(bound.text.replaceAll('staging', 'dev')).toBe(unbound.text.replaceAll('staging', 'dev'));
    });
  }

  it('finds only its own in lists', async () => {
    const call = callWith(['knowledge:read'], bounds);
    const { data } = await ask(
      `{ packages(environment: "dev") { agentKey } other: packages { agentKey } }`,
      {},
      { call },
    );
    expect(data).toEqual({ packages: [{ agentKey: 'mine' }], other: [] });
    const { data: all } = await ask(
      `{ version(agentKey: "theirs", environment: "dev", knowledgeVersion: "v1") { checksum } }`,
    );
    const found = await ask(
      `query ($checksum: String!) { versionsByChecksum(checksum: $checksum) { agentKey } }`,
      { checksum: all.version.checksum },
      { call },
    );
    expect(found.data.versionsByChecksum).toEqual([]);
  });
});

describe('the answer of a mutation', () => {
  const rollback = (selection: string) =>
    ask(
      `mutation { activate(agentKey: "mine", environment: "dev", knowledgeVersion: "v1") { ${selection} } }`,
      {},
      { call: callWith(['ai.knowledge.rollback']) },
    );

  it.each([
    'versions { nodes { checksum } }',
    'active { files { relativePath } }',
    'active { files { content } }',
  ])('gives history and files only to whoever may read: %s (G17)', async (selection) =>
    expect(codesOf(await rollback(selection))).toEqual(['FORBIDDEN']),
  );

  it('gives what the pointer is now to whoever may move it', async () => {
    expect(codesOf(await rollback('generation active { knowledgeVersion checksum }'))).toEqual([]);
  });
});

describe('an environment', () => {
  it('that is not there and one that is not the key’s are the same to a bound key (T22)', async () => {
    const call = callWith(['knowledge:read'], { environments: ['staging'] });
    const told = async (environment: string) => {
      const { errors } = await ask(
        `{ package(agentKey: "mine", environment: "${environment}") { stage } }`,
        {},
        { call },
      );
      return errors?.[0]?.message.replace(environment, '…');
    };
    expect(await told('mars')).toBe(await told('dev'));
    const listed = async (environment: string) =>
      (await ask(`{ packages(environment: "${environment}") { stage } }`, {}, { call })).data;
    expect(await listed('mars')).toEqual(await listed('dev'));
  });
});
