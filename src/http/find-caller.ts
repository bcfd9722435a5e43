import type { Caller } from '../core/permissions.ts';
import { authenticate, unauthenticated } from '../operations/authenticate.ts';
import type { Context } from '../operations/context.ts';
import type { Exchange } from './exchange.ts';
import { Refusal } from './refusal.ts';

/** How callers are known: by their keys, or everybody as one caller, on loopback only. */
export type Auth = 'required' | { readonly off: Caller };

/** Who asks. Throws `UNAUTHENTICATED` in the same words for every document without a valid key (T25). */
export async function findCaller(context: Context, { request }: Exchange, auth: Auth): Promise<Caller> {
  if (auth !== 'required') return auth.off;
  const bearer = /^bearer +([^ ]+)$/i.exec(request.headers.authorization ?? '')?.[1];
  if (bearer === undefined) throw unauthenticated();
  return authenticate(context, bearer);
}

/** The header that a GET needs while nobody has to show a key; any value. */
export const preflightHeader = 'x-graphql-preflight';

/**
 * While nobody has to show a key, a page in a browser on this machine must not be able to ask either. A POST of JSON
 * and a GET with a header of our own are what a page of another origin cannot send unasked; a request that came
 * through a proxy is not from this machine at all (T3, T52).
 */
export function refuseStrangers({ request }: Exchange, auth: Auth): void {
  if (auth === 'required') return;
  if (Object.keys(request.headers).some((name) => name === 'forwarded' || name.startsWith('x-forwarded-'))) {
    throw new Refusal(403, 'While AGENT_KNOWLEDGE_AUTH is off, nothing is answered through a proxy.', {
      code: 'FORBIDDEN',
    });
  }
  if (request.method === 'GET' && request.headers[preflightHeader] === undefined) {
    throw new Refusal(403, `While AGENT_KNOWLEDGE_AUTH is off, a GET needs the header ${preflightHeader}.`, {
      code: 'FORBIDDEN',
    });
  }
}
