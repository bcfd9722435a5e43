import type { Caller } from '../core/permissions.ts';
import { authenticate, authenticateSession, unauthenticated } from '../operations/authenticate.ts';
import type { Context } from '../operations/context.ts';
import type { Exchange } from './exchange.ts';
import { Refusal } from './refusal.ts';
import type { Sessions } from './session.ts';

/** How callers are known: by their keys and sessions, or everybody as one caller, on loopback only. */
export type Auth = 'required' | { readonly off: Caller };

/**
 * Who asks: by a key, or else by the cookie of a signed-in browser, which counts only in the hands of a page of ours.
 * Throws `UNAUTHENTICATED` in the same words for every document without a valid key (T25).
 */
export async function findCaller(
  context: Context,
  { request }: Exchange,
  { auth, sessions }: { readonly auth: Auth; readonly sessions: Sessions },
): Promise<Caller> {
  if (auth !== 'required') return auth.off;
  const { authorization } = request.headers;
  const secret = authorization === undefined ? sessions.readSecret(request) : null;
  if (secret !== null) {
    sessions.requireOwnPage(request, secret);
    const signedIn = await authenticateSession(context, secret);
    if (signedIn === null) throw signInEnded();
    return signedIn.caller;
  }
  const bearer = /^bearer +([^ ]+)$/i.exec(authorization ?? '')?.[1];
  if (bearer === undefined) throw unauthenticated();
  return authenticate(context, bearer);
}

/** What a page is told whose session is over. */
export function signInEnded(): Refusal {
  return new Refusal(
    401,
    'This sign-in has ended. Run "npx agent-knowledge login" where the server runs, and open the link that it prints.',
    { code: 'UNAUTHENTICATED' },
  );
}

/** The header that a GET needs while nobody has to show a key; any value. */
export const preflightHeader = 'x-graphql-preflight';

/**
 * While nobody has to show a key, a page in a browser on this machine must not be able to ask either. A POST of JSON
 * and a GET with a header of our own are what a page of another origin cannot send unasked (T3, T52).
 */
export function refuseStrangers(exchange: Exchange, auth: Auth): void {
  if (auth === 'required') return;
  refuseProxies(exchange, auth);
  if (exchange.request.method === 'GET') requirePreflight(exchange);
}

/** While nobody has to show a key: a request that came through a proxy is not from this machine at all (T52). */
export function refuseProxies({ request }: Exchange, auth: Auth): void {
  if (auth === 'required') return;
  if (Object.keys(request.headers).some((name) => name === 'forwarded' || name.startsWith('x-forwarded-'))) {
    throw new Refusal(403, 'While AGENT_KNOWLEDGE_AUTH is off, nothing is answered through a proxy.', {
      code: 'FORBIDDEN',
    });
  }
}

function requirePreflight({ request }: Exchange): void {
  if (request.headers[preflightHeader] !== undefined) return;
  throw new Refusal(403, `While AGENT_KNOWLEDGE_AUTH is off, a GET needs the header ${preflightHeader}.`, {
    code: 'FORBIDDEN',
  });
}
