import { randomBytes } from 'node:crypto';
import { issueSignIn, signInLink, type SignInRequest } from '../../src/operations/sign-in.ts';
import type { TestDatabase } from './database.ts';

/** A link that nobody has used, for a server at this address. */
export async function issueLink(
  testDatabase: TestDatabase,
  url: string,
  change: Partial<SignInRequest> & { readonly clock?: () => Date } = {},
): Promise<{ readonly link: string; readonly code: string; readonly sessionId: string }> {
  const { clock, ...rights } = change;
  const material = {
    sessionId: randomBytes(6).toString('hex'),
    code: randomBytes(32).toString('base64url'),
  };
  const context = testDatabase.context(clock ? { clock } : {});
  const request = { name: 'Anna', scopes: ['admin'], agents: null, environments: null, ...rights };
  await issueSignIn(context, request, material);
  return { ...material, link: signInLink(url, material) };
}

/** What a browser holds that has used a link: its cookie, and the token that its page is given. */
export interface SignedInBrowser {
  readonly sessionId: string;
  /** As a request sends it. */
  readonly cookie: string;
  readonly csrfToken: string;
}

export async function signInTo(
  testDatabase: TestDatabase,
  url: string,
  change: Partial<SignInRequest> = {},
): Promise<SignedInBrowser> {
  const { link, sessionId } = await issueLink(testDatabase, url, change);
  return { sessionId, ...(await useLink(link)) };
}

/** Uses a link as a browser does, without one. */
export async function useLink(link: string): Promise<Omit<SignedInBrowser, 'sessionId'>> {
  const cookie = cookieOf(await fetch(link, { redirect: 'manual' }));
  const settings = await fetch(new URL('/graphiql/settings', link), {
    headers: { cookie, 'x-graphql-preflight': '1' },
  });
  const { csrfToken } = (await settings.json()) as { csrfToken: string };
  return { cookie, csrfToken };
}

/** The cookie that a response gives, as a browser sends it back. */
export function cookieOf(response: Response): string {
  const given = response.headers.get('set-cookie');
  if (given === null) throw new Error(`No cookie came with ${response.status}.`);
  return given.split(';')[0] ?? '';
}
