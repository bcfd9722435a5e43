import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { authenticate } from '../../src/operations/authenticate.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import type { Json } from '../support/registry-documents.ts';
import { makeCliPlace } from './cli-place.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database[Symbol.asyncDispose]());

describe('keys create', () => {
  it('prints the key alone on stdout, once, and it opens what it should', async () => {
    await using place = await makeCliPlace(database);
    const bounds = '--agent triage --environment dev --environment staging --expires 30d';
    const { code, out, err } = await place.run(
      ...`keys create --name runtime --scope knowledge:read runs:write ${bounds}`.split(' '),
    );
    expect(code).toBe(0);
    expect(out).toMatch(/^ak_[0-9a-f]+_[A-Za-z0-9_-]{43}\n$/);
    expect(err).toMatch(/^Key [0-9a-f]+ was made\./);
    expect(err).not.toContain(out.trim().slice(-43)); // The secret, which may hold a `_` of its own.

    const caller = await authenticate(database.context(), out.trim());
    expect(caller).toMatchObject({
      kind: 'key',
      scopes: new Set(['knowledge:read', 'runs:write']),
      agents: new Set(['triage']),
      environments: new Set(['dev', 'staging']),
    });
  });

  it('is a document with the key and its bounds', async () => {
    await using place = await makeCliPlace(database);
    const { code, body } = await place.json(
      ...'keys create --name full --scope numu:full --expires 2999-12-31'.split(' '),
    );
    expect(code).toBe(0);
    expect(body).toEqual({
      keyId: expect.any(String),
      key: expect.stringMatching(/^ak_/),
      name: 'full',
      scopes: ['knowledge:read', 'runs:write'],
      agents: null,
      environments: null,
      expiresAt: '2999-12-31T00:00:00.000Z',
    });
  });

  it('counts days from now', async () => {
    await using place = await makeCliPlace(database);
    const { body } = await place.json('keys', 'create', '--name', 'x', '--scope', 'admin', '--expires', '2d');
    const days = (Date.parse(String(body['expiresAt'])) - Date.now()) / 86_400_000;
    expect(days).toBeCloseTo(2, 2);
  });

  it.each([
    [['--scope', 'everything'], 64, 'scopes must be some of knowledge:read'],
    [['--scope', 'admin', '--agent', 'Bad Key'], 64, 'agents must be agent keys'],
    [['--scope', 'admin', '--environment', 'prod'], 1, 'No environment "prod"'],
  ])('with %j ends with %i and makes none', async (options, code, words) => {
    await using place = await makeCliPlace(database);
    const before = await place.json('keys', 'list');
    const ended = await place.run('keys', 'create', '--name', 'x', ...options);
    expect(ended).toMatchObject({ code, out: '' });
    expect(ended.err).toContain(words);
    expect(await place.json('keys', 'list')).toEqual(before);
  });
});

describe('keys list and revoke', () => {
  it('never show a secret, and a revoked key opens nothing', async () => {
    await using place = await makeCliPlace(database);
    const { body } = await place.json('keys', 'create', '--name', 'a\u001bb', '--scope', 'admin');
    const [keyId, key] = [String(body['keyId']), String(body['key'])];
    const secret = key.split('_').slice(2).join('_');

    const listed = await place.run('keys', 'list');
    expect(listed.out).toMatch(new RegExp(`\\n${keyId} +a\\\\u001bb +live +admin +all +all `));
    const json = await place.run('keys', 'list', '--json');
    for (const out of [listed.out, json.out]) {
      expect(out).not.toContain(secret);
      expect(out).not.toMatch(/[0-9a-f]{64}/);
    }
    expect((JSON.parse(json.out) as { keys: Json[] }).keys[0]).toEqual({
      keyId,
      name: 'a\u001bb',
      scopes: ['admin'],
      agents: null,
      environments: null,
      createdAt: expect.any(String),
      expiresAt: null,
      revokedAt: null,
      lastUsedAt: null,
    });

    expect(await place.json('keys', 'revoke', keyId)).toEqual({ code: 0, body: { keyId, revoked: true } });
    await expect(authenticate(database.context(), key)).rejects.toThrow('A valid key is needed');
    expect((await place.run('keys', 'list')).out).toMatch(new RegExp(`\\n${keyId} +a\\\\u001bb +revoked `));
    expect(await place.run('keys', 'revoke', keyId)).toMatchObject({ code: 1, out: '' });
    const unknown = await place.run('keys', 'revoke', 'nothing');
    expect(unknown.code).toBe(1);
    expect(unknown.err).toContain('"npx agent-knowledge keys list"');
  });
});
