import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withdrawKey } from '../../src/operations/manage-keys.ts';
import { sha256 } from '../../src/core/checksum.ts';
import { caller, createTestDatabase, type TestDatabase } from '../support/database.ts';
import { makeKey, sendRaw, startTestServer, type TestServer } from '../support/http.ts';
import { loadVersion } from '../support/knowledge.ts';
import { cookieOf, issueLink, signInTo, type SignedInBrowser } from '../support/sign-in.ts';

let database: TestDatabase;
let server: TestServer;
beforeAll(async () => {
  database = await createTestDatabase();
  server = await startTestServer(database);
  await loadVersion(database, { agentKey: 'agent', files: { 'a.md': 'text\n' } });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

type Headers = Readonly<Record<string, string>>;
const document = '{ activeVersion(agentKey: "agent") { knowledgeVersion } }';
const page = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
const open = (link: string, headers: Headers = {}, method = 'GET') =>
  fetch(link, { method, redirect: 'manual', headers: { ...page, ...headers } });

/** What a page of ours sends. */
function own({ cookie, csrfToken }: SignedInBrowser, url = server.url): Headers {
  return { cookie, 'x-csrf-token': csrfToken, origin: url, 'content-type': 'application/json' };
}

function post(headers: Headers, url = server.url): Promise<Response> {
  return fetch(`${url}/graphql`, { method: 'POST', headers, body: JSON.stringify({ query: document }) });
}

async function codeOf(response: Response): Promise<unknown> {
  const { errors } = (await response.json()) as { errors?: { extensions: { code: string } }[] };
  return errors?.[0]?.extensions.code ?? null;
}

describe('a sign-in link', () => {
  it('gives a cookie that no script reads and no other site sends, and leads to the page', async () => {
    const { link } = await issueLink(database, server.url);
    const response = await open(link);
    expect(response.status).toBe(303);
    expect(response.headers.get('location')).toBe('./graphql');
    expect(response.headers.get('referrer-policy')).toBe('no-referrer');
    expect(response.headers.get('set-cookie')).toMatch(
      /^agent-knowledge-[0-9a-f]{12}=[A-Za-z0-9_-]{43}; Max-Age=43200; Path=\/; HttpOnly; SameSite=Strict$/,
    );
  });

  it('works once: used, unknown or garbled it answers 401 with a page that says what to do (T31)', async () => {
    const { link } = await issueLink(database, server.url);
    await open(link);
    const dead = [link, `${server.url}/sign-in?code=unknown`, `${server.url}/sign-in`, `${link}&code=again`];
    const bodies = new Set<string>();
    for (const address of dead) {
      const response = await open(address);
      expect(response.status).toBe(401);
      expect(response.headers.get('set-cookie')).toBeNull();
      expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(response.headers.get('referrer-policy')).toBe('no-referrer');
      expect(response.headers.get('content-security-policy')).toMatch(
        /^default-src 'none'; style-src 'sha256-[^']+'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'$/,
      );
      bodies.add(await response.text());
    }
    expect(bodies.size).toBe(1);
    expect([...bodies][0]).toContain('npx agent-knowledge login');
  });

  it('is over after ten minutes', async () => {
    const clock = () => new Date(Date.now() - 10 * 60_000);
    const { link } = await issueLink(database, server.url, { clock });
    expect((await open(link)).status).toBe(401);
  });

  it('lets exactly one in of two browsers that open it at once', async () => {
    const { link } = await issueLink(database, server.url);
    const statuses = (await Promise.all([open(link), open(link)])).map(({ status }) => status);
    expect(statuses.toSorted((a, b) => a - b)).toEqual([303, 401]);
  });

  it.each<[string, Headers, string, number]>([
    ['a HEAD', {}, 'HEAD', 200],
    ['a prefetch', { 'sec-purpose': 'prefetch' }, 'GET', 503],
    ['a prerender', { 'sec-purpose': 'prefetch;prerender' }, 'GET', 503],
    ['an older prefetch', { purpose: 'prefetch' }, 'GET', 503],
    [
      'a click on another site, which comes back from our page',
      { 'sec-fetch-site': 'cross-site' },
      'GET',
      200,
    ],
  ])('is not used up by %s', async (_what, headers, method, status) => {
    const { link } = await issueLink(database, server.url);
    const response = await open(link, headers, method);
    expect(response.status).toBe(status);
    expect(response.headers.get('set-cookie')).toBeNull();
    expect((await open(link)).status).toBe(303);
  });

  it('that was used leads a browser on that is signed in already', async () => {
    const { link } = await issueLink(database, server.url);
    const cookie = cookieOf(await open(link));
    const again = await open(link, { cookie });
    expect([again.status, again.headers.get('set-cookie')]).toEqual([303, null]);
    const clicked = await open(link, { cookie, 'sec-fetch-site': 'cross-site' });
    expect(clicked.status).toBe(303);
  });

  it('takes GET and HEAD alone', async () => {
    const { link } = await issueLink(database, server.url);
    expect((await open(link, {}, 'POST')).status).toBe(405);
    expect((await open(link)).status).toBe(303);
  });

  it('stands in no log, nor do cookie and token, whatever is logged (T24, T31)', async () => {
    const { link, code } = await issueLink(database, server.url);
    const signedIn = await signInTo(database, server.url);
    await open(link);
    await open(link);
    await post(own(signedIn));
    await post({ ...own(signedIn), origin: 'https://elsewhere.example' });
    await fetch(`${server.url}/graphql?query=x`, { headers: own(signedIn) });
    await fetch(`${server.url}/sign-out`, { method: 'POST', headers: own(signedIn) });
    const log = JSON.stringify(server.logger.lines);
    expect(log).toContain('/sign-in');
    expect(log).toContain(signedIn.sessionId);
    for (const secret of [code, signedIn.cookie.split('=')[1] ?? '', signedIn.csrfToken]) {
      expect(log).not.toContain(secret);
      expect(log).not.toContain(sha256(secret));
    }
  });
});

describe('the cookie', () => {
  it('is bound to the host and sent over TLS only where the public address is https', async () => {
    await using secure = await startTestServer(database, { publicUrl: 'https://knowledge.example.org' });
    const local = `http://127.0.0.1:${secure.port}`;
    const { link } = await issueLink(database, local);
    const given = (await open(link)).headers.get('set-cookie');
    expect(given).toMatch(/^__Host-agent-knowledge-[0-9a-f]{12}=/);
    expect(given).toMatch(/; Path=\/; HttpOnly; SameSite=Strict; Secure$/);
    const signedIn = await signInTo(database, local);
    expect((await post(own(signedIn, 'https://knowledge.example.org'), local)).status).toBe(200);
    expect((await post(own(signedIn, 'http://knowledge.example.org'), local)).status).toBe(403);
  });

  it('of one server is no other one’s on the same host, and is every process’s behind one address', async () => {
    await using other = await startTestServer(database);
    const mine = await signInTo(database, server.url);
    const its = await signInTo(database, other.url);
    expect(its.cookie.split('=')[0]).not.toBe(mine.cookie.split('=')[0]);
    // A browser sends both to both.
    const both = `${mine.cookie}; ${its.cookie}`;
    expect((await post({ ...own(mine), cookie: both })).status).toBe(200);
    expect((await post({ ...own(its, other.url), cookie: both }, other.url)).status).toBe(200);

    const publicUrl = 'http://knowledge.example.org';
    await using first = await startTestServer(database, { publicUrl });
    await using second = await startTestServer(database, { publicUrl });
    const signedIn = await signInTo(database, `http://127.0.0.1:${first.port}`);
    expect((await post(own(signedIn, publicUrl), `http://127.0.0.1:${second.port}`)).status).toBe(200);
  });
});

describe('a request with the cookie of a sign-in', () => {
  it('is answered in the name of who signed in', async () => {
    const reader = await signInTo(database, server.url, { scopes: ['knowledge:read'] });
    expect(await (await post(own(reader))).json()).toEqual({
      data: { activeVersion: { knowledgeVersion: 'v1' } },
    });
    const refresh = await fetch(`${server.url}/graphql`, {
      method: 'POST',
      headers: own(reader),
      body: JSON.stringify({ query: 'mutation { refresh(agentKey: "agent", waitSeconds: 0) { state } }' }),
    });
    expect(await codeOf(refresh)).toBe('FORBIDDEN');
    const query = new URLSearchParams({ query: document });
    const get = await fetch(`${server.url}/graphql?${query}`, { headers: own(reader) });
    expect(get.status).toBe(200);
  });

  it.each<[string, (signedIn: SignedInBrowser) => Record<string, string | undefined>]>([
    ['no token', () => ({ 'x-csrf-token': undefined })],
    ['an empty token', () => ({ 'x-csrf-token': '' })],
    ['another token', ({ csrfToken }) => ({ 'x-csrf-token': `${csrfToken}x` })],
    ['no origin', () => ({ origin: undefined })],
    ['another origin', () => ({ origin: 'http://127.0.0.1:1' })],
    ['the origin of a page without one', () => ({ origin: 'null' })],
    ['an origin that begins as ours', () => ({ origin: `${server.url}0` })],
    ['our origin over https', () => ({ origin: server.url.replace('http:', 'https:') })],
    ['our origin, sent by a page of the same site', () => ({ 'sec-fetch-site': 'same-site' })],
    ['our origin, sent by a page of another site', () => ({ 'sec-fetch-site': 'cross-site' })],
    ['the site alone, where it writes', () => ({ origin: undefined, 'sec-fetch-site': 'same-origin' })],
  ])('and %s is refused, by POST and as a sign-out (T3)', async (_what, change) => {
    const signedIn = await signInTo(database, server.url);
    const changed = Object.entries({ ...own(signedIn), ...change(signedIn) });
    const headers = Object.fromEntries(
      changed.filter((entry): entry is [string, string] => entry[1] !== undefined),
    );
    const response = await post(headers);
    expect([response.status, await codeOf(response)]).toEqual([403, 'FORBIDDEN']);
    const signOut = await fetch(`${server.url}/sign-out`, { method: 'POST', headers });
    expect(signOut.status).toBe(403);
    expect((await post(own(signedIn))).status).toBe(200);
  });

  it('may read by GET where the browser says that a page of ours asks, and not else', async () => {
    const { cookie, csrfToken } = await signInTo(database, server.url);
    const get = (headers: Headers) =>
      fetch(`${server.url}/graphql?${new URLSearchParams({ query: document })}`, {
        headers: { cookie, 'x-csrf-token': csrfToken, ...headers },
      });
    expect((await get({ 'sec-fetch-site': 'same-origin' })).status).toBe(200);
    for (const site of ['same-site', 'cross-site', 'none'])
      expect((await get({ 'sec-fetch-site': site })).status).toBe(403);
    expect((await get({})).status).toBe(403);
  });

  it('is one of the key where it shows a key as well', async () => {
    const signedIn = await signInTo(database, server.url, { scopes: ['runs:write'] });
    expect(await codeOf(await post(own(signedIn)))).toBe('FORBIDDEN');
    const bearer = `Bearer ${await makeKey(database)}`;
    const json = { 'content-type': 'application/json', cookie: signedIn.cookie };
    expect((await post({ ...json, authorization: bearer })).status).toBe(200);
    for (const authorization of ['Bearer ak_x_y', 'Basic eDp5', ''])
      expect((await post({ ...own(signedIn), authorization })).status).toBe(401);
  });

  it.each([
    ['garbled', (name: string) => `${name}=short`],
    ['made up', (name: string) => `${name}=${'A'.repeat(43)}`],
    ['of another name', () => `agent-knowledge=${'A'.repeat(43)}`],
    ['empty', (name: string) => `${name}=`],
  ])('that is %s is refused as one without (T25)', async (_what, cookie) => {
    const signedIn = await signInTo(database, server.url);
    const made = cookie(signedIn.cookie.split('=')[0] ?? '');
    expect((await post({ ...own(signedIn), cookie: made })).status).toBeGreaterThanOrEqual(401);
    expect((await post({ ...own(signedIn), cookie: made })).status).toBeLessThanOrEqual(403);
  });

  it('is refused from the moment on when the session ends, at every process', async () => {
    await using other = await startTestServer(database, { publicUrl: server.url });
    await using one = await startTestServer(database, { publicUrl: server.url });
    const urls = [`http://127.0.0.1:${one.port}`, `http://127.0.0.1:${other.port}`] as const;
    const signedIn = await signInTo(database, urls[0]);
    for (const url of urls) expect((await post(own(signedIn), url)).status).toBe(200);
    await withdrawKey(database.context(), signedIn.sessionId);
    for (const url of urls) {
      const response = await post(own(signedIn), url);
      expect([response.status, await codeOf(response)]).toEqual([401, 'UNAUTHENTICATED']);
    }
  });
});

describe('a sign-out', () => {
  it('ends the session and takes the cookie away', async () => {
    const signedIn = await signInTo(database, server.url);
    const response = await fetch(`${server.url}/sign-out`, { method: 'POST', headers: own(signedIn) });
    expect(await response.json()).toEqual({ signedOut: true });
    expect(response.headers.get('set-cookie')).toMatch(/^agent-knowledge-[0-9a-f]{12}=; Max-Age=0; Path=\//);
    expect((await post(own(signedIn))).status).toBe(401);
    const page = await open(`${server.url}/graphql`, { cookie: signedIn.cookie });
    expect(page.status).toBe(401);
  });

  it('needs a sign-in, and is a POST', async () => {
    expect((await fetch(`${server.url}/sign-out`, { method: 'POST' })).status).toBe(401);
    expect((await fetch(`${server.url}/sign-out`)).status).toBe(405);
  });
});

describe('a sign-in on a server that asks for none', () => {
  it('says so, and the settings are a page’s of this server', async () => {
    const off = caller(database.context().caller.actorId, ['admin']);
    await using open_ = await startTestServer(database, { auth: { off } });
    const { link } = await issueLink(database, open_.url);
    const answer = await open(link);
    expect([answer.status, await answer.text()]).toEqual([
      200,
      expect.stringContaining('No sign-in is needed'),
    ]);
    const settings = (headers: Headers) => fetch(`${open_.url}/graphiql/settings`, { headers });
    expect((await settings({})).status).toBe(403);
    expect((await settings({ 'x-graphql-preflight': '1', origin: 'http://elsewhere' })).status).toBe(403);
    expect((await settings({ 'x-graphql-preflight': '1', 'x-forwarded-for': '1.2.3.4' })).status).toBe(403);
    const given = await settings({ 'x-graphql-preflight': '1' });
    expect(await given.json()).toMatchObject({ csrfToken: null, name: null, expiresAt: null });
    expect((await open(`${open_.url}/graphql`)).status).toBe(200);
    expect((await open(`${open_.url}/graphql`, { 'x-forwarded-for': '1.2.3.4' })).status).toBe(403);
  });
});

it('a page of another host name reaches none of it (T3, DNS rebinding)', async () => {
  for (const path of ['/sign-in?code=x', '/graphql', '/graphiql/settings', '/']) {
    const answer = await sendRaw(
      server.port,
      `GET ${path} HTTP/1.1\r\nhost: evil.example\r\naccept: text/html\r\nconnection: close\r\n\r\n`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 421 /);
  }
});
