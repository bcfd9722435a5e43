import { GraphQLError } from 'graphql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { KnowledgeError } from '../../src/core/errors.ts';
import { presentError } from '../../schema/errors.ts';
import { Database } from '../../src/store/database.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { codesOf, createAsk, recordingLogger } from '../support/graphql.ts';
import { loadVersion } from '../support/knowledge.ts';

let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database[Symbol.asyncDispose]());

const canary = 'canary-7f3a at /secret/path on db.internal:5432';

describe('an unexpected error', () => {
  it('is masked with the request id and told in full to the log', async () => {
    const logger = recordingLogger();
    const failing = {
      ...database.context(),
      clock: () => {
        throw new Error(canary);
      },
    };
    await loadVersion(database, { agentKey: 'masked', files: { 'a.md': 'one' } });
    const ask = createAsk(() => failing, logger);
    const answer = await ask(`mutation { hold(agentKey: "masked", reason: "x") { generation } }`);
    expect(answer.text).not.toContain('canary');
    expect(answer.text).not.toMatch(/node_modules|\.ts:|at async/);
    expect(answer.errors).toEqual([
      {
        message: expect.stringContaining('test-request'),
        locations: [{ line: 1, column: 12 }],
        path: ['hold'],
        extensions: { code: 'INTERNAL', requestId: 'test-request' },
      },
    ]);
    expect(logger.lines).toMatchObject([
      {
        level: 'error',
        fields: { requestId: 'test-request', path: 'hold', error: expect.stringContaining(canary) },
      },
    ]);
  });

  it('is one where stored content does not match its checksum', async () => {
    await using own = await createTestDatabase();
    const logger = recordingLogger();
    await loadVersion(own, { agentKey: 'damaged', files: { 'a.md': 'as captured' } });
    await own.asSuperuser(async (client) => {
      await client.query('set search_path = agent_knowledge');
      for (const { name } of (
        await client.query<{ name: string }>(`select tgname as name from pg_trigger
        where tgrelid = 'blob'::regclass and not tgisinternal`)
      ).rows) {
        await client.query(`alter table blob disable trigger "${name}"`);
      }
      await client.query('alter table blob drop constraint "a blob is keyed by its own SHA-256"');
      await client.query(`update blob set content = 'as forged'::bytea`);
    });
    const answer = await createAsk(
      () => own.context(),
      logger,
    )(`{ activeVersion(agentKey: "damaged") { files { content } } }`);
    expect(codesOf(answer)).toEqual(['INTERNAL']);
    expect(answer.text).not.toContain('forged');
    expect(JSON.stringify(logger.lines)).toContain('Stored content is damaged');
  });

  it('never says what went wrong, whatever was thrown', () => {
    const thrown: unknown[] = [
      new Error(canary),
      new TypeError(canary, { cause: new Error(canary) }),
      canary,
      { message: canary },
      null,
      undefined,
      new KnowledgeError('INTERNAL', canary),
      new GraphQLError(canary, { originalError: new Error(canary), path: ['a', 0, 'b'] }),
      new GraphQLError(canary, {
        originalError: new GraphQLError('x', { originalError: new Error(canary) }),
      }),
      // What a scalar says of a value of ours comes with a field and points nowhere.
      new GraphQLError(canary, { originalError: new GraphQLError(canary), path: ['generation'] }),
      new AggregateError([new Error(canary)], canary),
    ];
    for (const error of thrown) {
      const logger = recordingLogger();
      const presented = presentError(error, { requestId: 'r-1', logger });
      expect(JSON.stringify(presented)).not.toContain('canary');
      expect(presented.extensions).toMatchObject({ code: 'INTERNAL', requestId: 'r-1' });
      expect(presented.originalError).toBeUndefined();
      expect(logger.lines).toHaveLength(1);
    }
  });
});

describe('a refusal', () => {
  it('keeps its words, its code and its details', () => {
    const logger = recordingLogger();
    const refusal = new KnowledgeError('CONFLICT', 'v3 is active.', {
      details: { current: 'v3', code: 'no' },
    });
    const presented = presentError(new GraphQLError('', { originalError: refusal, path: ['a'] }), {
      requestId: 'r-1',
      logger,
    });
    expect(presented.toJSON()).toEqual({
      message: 'v3 is active.',
      path: ['a'],
      extensions: { current: 'v3', code: 'CONFLICT' },
    });
    expect(logger.lines).toEqual([]);
  });

  it('is the transport’s too where the caller should come back later', () => {
    const report = { requestId: 'r-1', logger: recordingLogger() };
    const away = new KnowledgeError('UNAVAILABLE', 'Not now.', { details: { retryAfterMs: 1500 } });
    expect(presentError(away, report).extensions).toEqual({
      retryAfterMs: 1500,
      code: 'UNAVAILABLE',
      http: { status: 503, headers: { 'retry-after': '2' } },
    });
    const often = new KnowledgeError('RATE_LIMITED', 'Slower.');
    expect(presentError(often, report).extensions['http']).toMatchObject({ status: 429 });
  });

  it('reaches the caller as 503 with a time to come back when the database is away', async () => {
    await using away = await Database.open({ url: 'postgres://nobody@127.0.0.1:1/nothing' });
    const ask = createAsk(() => database.context({ database: away }));
    const answer = await ask(`{ packages { agentKey } }`);
    expect(codesOf(answer)).toEqual(['UNAVAILABLE']);
    expect(answer.status).toBe(503);
    expect(answer.headers['retry-after']).toBe('1');
  });
});

describe('a fault of the document', () => {
  const documents: Record<string, string> = {
    'a syntax error': '{ packages {',
    'an empty document': '',
    'an unknown field': '{ packages { nothing } }',
    'a missing argument': '{ package { agentKey } }',
    'an argument of the wrong type': '{ package(agentKey: 5) { agentKey } }',
    'an unknown subscription': 'subscription { everything { kind } }',
    'an unknown directive': '{ packages @sometimes { agentKey } }',
    'a null where none may be': 'query ($k: String! = "x") { package(agentKey: $k) { agentKey } }',
    'an Int that is none': '{ versions(agentKey: "a", first: 99999999999) { totalCount } }',
    'no operation of that name': 'fragment f on Query { packages { agentKey } }',
  };
  const variables: Record<string, unknown> = { k: null };

  for (const [what, document] of Object.entries(documents)) {
    it(`is bad user input: ${what}`, async () => {
      const logger = recordingLogger();
      const ask = createAsk(() => database.context(), logger);
      const json = await ask(document, variables);
      expect(new Set(codesOf(json))).toEqual(new Set(['BAD_USER_INPUT']));
      expect(json.data).toBeUndefined();
      const graphql = await ask(document, variables, { accept: 'application/graphql-response+json' });
      expect(graphql.status).toBe(400);
      expect(logger.lines).toEqual([]);
    });
  }
});
