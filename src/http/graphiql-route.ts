import { hasScope, type Caller } from '../core/permissions.ts';
import { authenticateSession } from '../operations/authenticate.ts';
import type { CallContext, Context } from '../operations/context.ts';
import { readExamplePackage } from '../operations/read-example-package.ts';
import { allowMethods, type Exchange } from './exchange.ts';
import { preflightHeader, refuseProxies, signInEnded, type Auth } from './find-caller.ts';
import { createGraphiqlPage, type GraphiqlPage } from './graphiql-page.ts';
import { graphiqlTabs } from './graphiql-tabs.ts';
import { Refusal } from './refusal.ts';
import { respond, respondJson } from './respond.ts';
import { csrfTokenOf, type Sessions } from './session.ts';
import { answerPerson, reloadPage, respondPage, signInPage } from './sign-in-pages.ts';
import { comesFromElsewhere } from './sign-in-route.ts';

export interface GraphiqlOptions {
  readonly context: Context;
  readonly auth: Auth;
  readonly sessions: Sessions;
}

/**
 * Answers browsers: `GET /graphql` of somebody who wants to read HTML with GraphiQL, `/` with the way there, and
 * `GET /graphiql/settings` with what the page must know of this session; false for everything else.
 */
export function createGraphiqlRoutes(options: GraphiqlOptions): (exchange: Exchange) => Promise<boolean> {
  const page = createGraphiqlPage();
  return async (exchange) => {
    if (exchange.path === '/graphiql/settings') await answerSettings(exchange, options);
    else if (!wantsHtml(exchange)) return false;
    else if (exchange.path === '/')
      respond(exchange, { status: 302, headers: { location: './graphql' }, body: '' });
    else if (exchange.path === '/graphql')
      await answerPerson(exchange, () => answerPage(exchange, options, page));
    else return false;
    return true;
  };
}

/** A program that takes anything gets data, as the specification of GraphQL over HTTP has it. */
function wantsHtml({ request }: Exchange): boolean {
  const accept = request.headers.accept ?? '';
  return (
    request.method === 'GET' && accept.includes('text/html') && !/application\/[a-z-]*\+?json/.test(accept)
  );
}

async function answerPage(exchange: Exchange, options: GraphiqlOptions, page: GraphiqlPage): Promise<void> {
  const { auth, sessions } = options;
  refuseProxies(exchange, auth);
  if (comesFromElsewhere(exchange, sessions) && auth === 'required') return respondPage(exchange, reloadPage);
  if ((await findViewer(exchange, options)) === null) return respondPage(exchange, signInPage);
  respond(exchange, await page.answer(exchange.request.headers));
}

/** What differs from session to session, so that the page itself is one constant text. */
async function answerSettings(exchange: Exchange, options: GraphiqlOptions): Promise<void> {
  const { auth, context, sessions } = options;
  allowMethods(exchange, ['GET']);
  refuseProxies(exchange, auth);
  // A header of our own is what no page of another origin may send, whatever cookie its browser holds.
  if (exchange.request.headers[preflightHeader] === undefined || !sessions.isOwnPage(exchange.request)) {
    throw new Refusal(403, 'Only a page of this server may ask for its settings.', { code: 'FORBIDDEN' });
  }
  const viewer = await findViewer(exchange, options);
  if (viewer === null) throw signInEnded();
  const call: CallContext = { ...context, caller: viewer.caller };
  respondJson(exchange, 200, {
    csrfToken: viewer.csrfToken,
    name: viewer.name,
    expiresAt: viewer.expiresAt?.toISOString() ?? null,
    rights: describeRights(viewer.caller),
    tabs: graphiqlTabs(viewer.caller, await readExamplePackage(call)),
  });
}

interface Viewer {
  readonly caller: Caller;
  /** Null where nobody signs in. */
  readonly csrfToken: string | null;
  readonly name: string | null;
  readonly expiresAt: Date | null;
}

/** Who looks at the page; null where nobody is signed in. */
async function findViewer(
  { request }: Exchange,
  { context, auth, sessions }: GraphiqlOptions,
): Promise<Viewer | null> {
  if (auth !== 'required') return { caller: auth.off, csrfToken: null, name: null, expiresAt: null };
  const secret = sessions.readSecret(request);
  const signedIn = secret === null ? null : await authenticateSession(context, secret);
  if (secret === null || signedIn === null) return null;
  return { ...signedIn, csrfToken: csrfTokenOf(secret) };
}

/** What a session may do and where, in a few words. */
function describeRights(caller: Caller): string {
  const may = hasScope(caller, 'admin') ? 'everything' : [...caller.scopes].join(', ');
  const bounds = [caller.agents, caller.environments].flatMap((names) => (names === null ? [] : [...names]));
  return bounds.length === 0 ? may : `${may} (${bounds.join(', ')} only)`;
}
