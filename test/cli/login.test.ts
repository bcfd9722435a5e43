import { userInfo } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { authenticateSession } from '../../src/operations/authenticate.ts';
import { useSignIn } from '../../src/operations/sign-in.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import type { Json } from '../support/registry-documents.ts';
import { makeCliPlace } from './cli-place.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database[Symbol.asyncDispose]());

const onPort = { PORT: '4123' };

/** Who is signed in by a link, as a server would find. */
async function useLink(link: string) {
  const code = new URL(link).searchParams.get('code') ?? '';
  const secret = `secret of ${code}`;
  const context = database.context();
  return (await useSignIn(context, { code, secret })) && (await authenticateSession(context, secret));
}

describe('login', () => {
  it('prints a link alone on stdout, which signs in whoever runs it, as an admin, once', async () => {
    await using place = await makeCliPlace(database, onPort);
    const { code, out, err } = await place.run('login');
    expect(code).toBe(0);
    expect(out).toMatch(/^http:\/\/127\.0\.0\.1:4123\/sign-in\?code=[A-Za-z0-9_-]{43}\n$/);
    expect(err).toMatch(/it signs \S+ in once, for twelve hours/);
    const signedIn = await useLink(out.trim());
    expect(signedIn).toMatchObject({
      name: userInfo().username,
      caller: { kind: 'browser', scopes: new Set(['admin']), agents: null, environments: null },
    });
    expect(await useLink(out.trim())).toBeNull();
  });

  it('takes a name, scopes and bounds, and answers in JSON', async () => {
    await using place = await makeCliPlace(database, { PUBLIC_URL: 'https://knowledge.example.org/' });
    const bounds = ['--agent', 'anna', 'ben', '--environment', 'dev'];
    const { body } = await place.json('login', '--name', 'Anna', '--scope', 'numu:full', ...bounds);
    expect(body).toEqual({
      sessionId: expect.stringMatching(/^[0-9a-f]{12}$/) as string,
      name: 'Anna',
      scopes: ['knowledge:read', 'runs:write'],
      agents: ['anna', 'ben'],
      environments: ['dev'],
      url: expect.stringMatching(/^https:\/\/knowledge\.example\.org\/sign-in\?code=/) as string,
      usableUntil: expect.stringMatching(/Z$/) as string,
    });
    expect(await useLink(String(body['url']))).toMatchObject({
      name: 'Anna',
      caller: { agents: new Set(['anna', 'ben']), environments: new Set(['dev']) },
    });
  });

  it.each([
    [['--scope', 'everything'], 64, 'scopes must be some of knowledge:read'],
    [['--name', '--scope'], 64, 'Expected a name; found an option.'],
    [['--agent', 'Bad Key'], 64, 'agents must be agent keys'],
    [['--environment', 'prod'], 1, 'No environment "prod"'],
  ])('with %j ends with %i and makes no link', async (options, code, words) => {
    await using place = await makeCliPlace(database, onPort);
    const before = await place.json('keys', 'list');
    const ended = await place.run('login', ...options);
    expect(ended).toMatchObject({ code, out: '' });
    expect(ended.err).toContain(words);
    expect(await place.json('keys', 'list')).toEqual(before);
  });

  it('says that it is not needed where authentication is off, and needs no database for that', async () => {
    await using place = await makeCliPlace(null, { ...onPort, AUTH: 'off' });
    const ended = await place.run('login');
    expect(ended).toMatchObject({ code: 0, out: 'http://127.0.0.1:4123/graphql\n' });
    expect(ended.err).toContain('No sign-in is needed');
    expect((await place.json('login')).body).toEqual({
      sessionId: null,
      url: 'http://127.0.0.1:4123/graphql',
    });
  });

  it('says what to set where nobody but the server knows the port', async () => {
    await using place = await makeCliPlace(database, { PORT: '0' });
    const ended = await place.run('login');
    expect(ended).toMatchObject({ code: 1, out: '' });
    expect(ended.err).toContain('AGENT_KNOWLEDGE_PUBLIC_URL');
  });

  it('leads to this machine where the server listens on every address', async () => {
    await using place = await makeCliPlace(database, { ...onPort, HOST: '0.0.0.0' });
    expect((await place.run('login')).out).toMatch(/^http:\/\/127\.0\.0\.1:4123\/sign-in/);
  });
});

describe('sessions', () => {
  it('are listed with the keys, without a secret, and end by "keys revoke"', async () => {
    await using place = await makeCliPlace(database, onPort);
    const { body } = await place.json('login', '--name', 'Zoe');
    const [sessionId, link] = [String(body['sessionId']), String(body['url'])];
    const listed = async () => {
      const { out } = await place.run('keys', 'list');
      expect(out).not.toContain(new URL(link).searchParams.get('code'));
      expect(out).not.toMatch(/[0-9a-f]{64}/);
      return new RegExp(`\\n${sessionId} +Zoe +(\\w+) `).exec(out)?.[1];
    };
    expect(await listed()).toBe('link');
    await useLink(link);
    expect(await listed()).toBe('live');
    const { sessions } = (await place.json('keys', 'list')).body as { sessions: Json[] };
    expect(sessions[0]).toEqual({
      sessionId,
      name: 'Zoe',
      scopes: ['admin'],
      agents: null,
      environments: null,
      createdAt: expect.any(String),
      signedInAt: expect.any(String),
      expiresAt: expect.any(String),
      revokedAt: null,
      lastUsedAt: expect.any(String),
    });
    expect(await place.json('keys', 'revoke', sessionId)).toMatchObject({ code: 0 });
    expect(await listed()).toBe('ended');
  });
});
