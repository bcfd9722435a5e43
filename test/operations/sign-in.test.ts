import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sha256 } from '../../src/core/checksum.ts';
import {
  authenticate,
  authenticateSession,
  readEndedCredentials,
} from '../../src/operations/authenticate.ts';
import type { CallContext } from '../../src/operations/context.ts';
import { createKey, withdrawKey } from '../../src/operations/manage-keys.ts';
import { readAuditLog } from '../../src/operations/read-audit-log.ts';
import {
  issueSignIn,
  readSessions,
  signOut,
  useSignIn,
  type SignInRequest,
} from '../../src/operations/sign-in.ts';
import { caller, createTestDatabase, type TestDatabase } from '../support/database.ts';

let database: TestDatabase;
let context: CallContext;
beforeAll(async () => {
  database = await createTestDatabase();
  context = database.context();
});
afterAll(() => database[Symbol.asyncDispose]());

const start = Date.parse('2030-01-01T00:00:00Z');
/** The same database, so many minutes later. */
const after = (minutes: number) =>
  database.context({ clock: () => new Date(start + Math.round(minutes * 60_000)) });

let made = 0;

/** Issues a link at minute 0; `secret` is what the browser that uses it is given. */
async function issue(change: Partial<SignInRequest> = {}) {
  made += 1;
  const material = { sessionId: `s${made}`, code: `CANARY-CODE_${made}` };
  const request = { name: 'anna', scopes: ['admin'], agents: null, environments: null, ...change };
  return {
    ...material,
    secret: `CANARY-SECRET_${made}`,
    issued: await issueSignIn(after(0), request, material),
  };
}

/** A browser that signed in at minute 0. */
async function signIn(change: Partial<SignInRequest> = {}) {
  const link = await issue(change);
  expect(await useSignIn(after(0), link)).toEqual({ sessionId: link.sessionId });
  const signedIn = await authenticateSession(after(0), link.secret);
  return { ...link, signedIn: signedIn! };
}

describe('a sign-in link', () => {
  it('begins a session with the rights that it was made with, for twelve hours', async () => {
    const { signedIn, secret, sessionId, issued } = await signIn({
      scopes: ['numu:full'],
      agents: ['anna'],
      environments: ['dev'],
    });
    expect(issued).toEqual({
      sessionId,
      scopes: ['knowledge:read', 'runs:write'],
      usableUntil: new Date(start + 10 * 60_000),
    });
    expect(signedIn).toEqual({
      name: 'anna',
      expiresAt: new Date(start + 12 * 3_600_000),
      caller: {
        actorId: expect.any(Number) as number,
        kind: 'browser',
        credential: { kind: 'session', id: sessionId },
        scopes: new Set(['knowledge:read', 'runs:write']),
        agents: new Set(['anna']),
        environments: new Set(['dev']),
      },
    });
    expect(await authenticateSession(after(12 * 60 - 0.001), secret)).not.toBeNull();
    expect(await authenticateSession(after(12 * 60), secret)).toBeNull();
  });

  it('lets exactly one in of many that use it at once (T31)', async () => {
    const { code } = await issue();
    const attempts = Array.from({ length: 12 }, (_, i) =>
      useSignIn(after(1), { code, secret: `${code}${i}` }),
    );
    const results = await Promise.all(attempts);
    expect(results.filter((result) => result !== null)).toHaveLength(1);
    const sessions = await Promise.all(results.map((_, i) => authenticateSession(after(1), `${code}${i}`)));
    expect(sessions.map((session) => session !== null)).toEqual(results.map((result) => result !== null));
  });

  it('is refused when it is unknown, used, expired or revoked', async () => {
    const { code, secret } = await signIn();
    expect(await useSignIn(after(0), { code, secret: 'another' })).toBeNull();
    expect(await useSignIn(after(0), { code: 'unknown', secret: 'another' })).toBeNull();
    expect(await useSignIn(after(0), { code: '', secret: 'another' })).toBeNull();
    expect(await authenticateSession(after(0), 'another')).toBeNull();
    expect(await authenticateSession(after(0), secret)).not.toBeNull();

    const late = await issue();
    expect(await useSignIn(after(10), { ...late })).toBeNull();
    expect(await useSignIn(after(9.99), { ...late })).not.toBeNull();

    const revoked = await issue();
    await withdrawKey(after(1), revoked.sessionId);
    expect(await useSignIn(after(2), revoked)).toBeNull();
  });

  it('cannot be used again by whoever may write to the table', async () => {
    const { sessionId } = await signIn();
    const again = (change: string) =>
      database.asSuperuser((client) =>
        client.query(
          `set role agent_knowledge_app; update agent_knowledge.browser_session set ${change} where session_id = '${sessionId}'`,
        ),
      );
    await expect(again("secret_hash = 'mine'")).rejects.toThrow('A sign-in link is used once.');
    await expect(again('secret_hash = null, signed_in_at = null, expires_at = null')).rejects.toThrow(
      'used once',
    );
    await expect(again("expires_at = expires_at + interval '1 day'")).rejects.toThrow('used once');
    await expect(again("scopes = '{admin}'")).rejects.toThrow('permission denied');
  });

  it('leaves no trace of code or secret in the database but their hashes (T24, T31)', async () => {
    const { code, secret } = await signIn();
    const { rows } = await database.asSuperuser((client) =>
      client.query<{ row: string }>(
        `select s::text as row from agent_knowledge.browser_session s
         union all select e::text from agent_knowledge.knowledge_event e`,
      ),
    );
    const dump = rows.map(({ row }) => row).join('\n');
    expect(dump).toContain(sha256(code));
    expect(dump).toContain(sha256(secret));
    expect(dump).not.toContain('CANARY');
    expect(JSON.stringify(await readSessions(context))).not.toMatch(/CANARY|[0-9a-f]{64}/);
  });

  it.each([
    [{ scopes: [] }, 'BAD_USER_INPUT'],
    [{ scopes: ['everything'] }, 'BAD_USER_INPUT'],
    [{ agents: ['Bad Key'] }, 'BAD_USER_INPUT'],
    [{ environments: ['prod'] }, 'NOT_FOUND'],
  ])('is not made with %j', async (change, code) => {
    const before = await readSessions(context);
    await expect(issue(change)).rejects.toMatchObject({ code });
    expect(await readSessions(context)).toEqual(before);
  });

  it('is made and listed by an admin only (T46)', async () => {
    const lesser = database.context({ caller: caller(context.caller.actorId, ['knowledge:read']) });
    const request = { name: 'x', scopes: ['admin'], agents: null, environments: null };
    const forbidden = { code: 'FORBIDDEN' };
    await expect(issueSignIn(lesser, request, { sessionId: 'x', code: 'x' })).rejects.toMatchObject(
      forbidden,
    );
    await expect(readSessions(lesser)).rejects.toMatchObject(forbidden);
  });
});

describe('a session', () => {
  it('ends at once when its browser signs out or an admin revokes it, and stays ended', async () => {
    const [mine, other] = [await signIn(), await signIn()];
    await signOut(after(1), mine.signedIn.caller);
    await signOut(after(1), mine.signedIn.caller);
    expect(await authenticateSession(after(1), mine.secret)).toBeNull();
    await withdrawKey(after(1), other.sessionId);
    expect(await authenticateSession(after(1), other.secret)).toBeNull();
    await expect(withdrawKey(after(1), other.sessionId)).rejects.toMatchObject({ code: 'CONFLICT' });
    await expect(withdrawKey(after(1), 'nobody')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('is one actor with every other one of the same name', async () => {
    const actors = [await signIn(), await signIn(), await signIn({ name: 'ben' })];
    const [first, second, third] = actors.map(({ signedIn }) => signedIn.caller.actorId);
    expect(second).toBe(first);
    expect(third).not.toBe(first);
  });

  it('is audited when its link is made and when it ends, by whoever did it', async () => {
    const { sessionId, signedIn } = await signIn({ agents: ['anna'] });
    await signOut(after(1), signedIn.caller);
    const [ended, begun] = (await readAuditLog(context, {})).rows;
    expect(begun).toMatchObject({
      action: 'key.created',
      subject: sessionId,
      actorRef: `local:${context.caller.actorId}`,
    });
    expect(JSON.parse(begun!.details)).toEqual({
      sessionId,
      scopes: ['admin'],
      agents: ['anna'],
      environments: null,
    });
    expect(ended).toMatchObject({
      action: 'key.revoked',
      subject: sessionId,
      actorRef: `browser:${signedIn.caller.actorId}`,
      actorName: 'anna',
    });
  });

  it('is forgotten a month after it was over, and one that may still be used is not', async () => {
    const [used, unused] = [await signIn(), await issue()];
    const ids = async () => (await readSessions(context)).map(({ sessionId }) => sessionId);
    const request = { name: 'anna', scopes: ['admin'], agents: null, environments: null };
    const month = 30 * 24 * 60;
    await issueSignIn(after(month + 11), request, { sessionId: 'later', code: 'later' });
    expect(await ids()).toEqual(expect.arrayContaining(['later', used.sessionId]));
    expect(await ids()).not.toContain(unused.sessionId);
    await issueSignIn(after(month + 12 * 60 + 1), request, { sessionId: 'last', code: 'last' });
    expect(await ids()).toEqual(expect.arrayContaining(['last', 'later']));
    expect(await ids()).not.toContain(used.sessionId);
  });
});

describe('whose credential has ended', () => {
  it('is answered for many callers at once, keys and sessions, and never of one without a credential', async () => {
    const keyOf = async (keyId: string, expiresAt: Date | null = null) => {
      const request = { name: keyId, scopes: ['admin'], agents: null, environments: null, expiresAt };
      const { key } = await createKey(context, request, { keyId, secret: 'secret' });
      return authenticate(after(0), key);
    };
    const [key, revokedKey] = [await keyOf('key1'), await keyOf('key2')];
    const expiringKey = await keyOf('key3', new Date(start + 60_000));
    const [session, signedOut, revoked] = [await signIn(), await signIn(), await signIn()];
    const callers = [
      key,
      session.signedIn.caller,
      context.caller,
      signedOut.signedIn.caller,
      revokedKey,
      revoked.signedIn.caller,
      expiringKey,
      session.signedIn.caller,
    ];
    expect(await readEndedCredentials(after(0.5), callers)).toEqual([]);
    expect(await readEndedCredentials(after(0.5), [])).toEqual([]);

    await withdrawKey(after(0.5), 'key2');
    await withdrawKey(after(0.5), revoked.sessionId);
    await signOut(after(0.5), signedOut.signedIn.caller);
    expect(await readEndedCredentials(after(0.5), callers)).toEqual([callers[3], callers[4], callers[5]]);
    expect(await readEndedCredentials(after(1), callers)).toEqual(callers.slice(3, 7));
    const ended = await readEndedCredentials(after(12 * 60), callers);
    expect(new Set(ended)).toEqual(new Set(callers.filter((one) => one !== key && one !== context.caller)));
  });
});
