import { randomBytes } from 'node:crypto';
import type { Logger } from '../core/logger.ts';
import { authenticateSession } from '../operations/authenticate.ts';
import type { Context } from '../operations/context.ts';
import { signOut, useSignIn } from '../operations/sign-in.ts';
import { allowMethods, type Exchange } from './exchange.ts';
import { signInEnded, type Auth } from './find-caller.ts';
import { readBody } from './read-body.ts';
import { respond, respondJson } from './respond.ts';
import type { Sessions } from './session.ts';
import { answerPerson, deadLinkPage, reloadPage, respondPage, signInNotNeededPage } from './sign-in-pages.ts';

export interface SignInOptions {
  readonly context: Context;
  readonly auth: Auth;
  readonly sessions: Sessions;
  readonly logger: Logger;
}

/** Answers `GET /sign-in`, which a one-time link leads to, and `POST /sign-out`; false for any other path. */
export function createSignInRoutes(options: SignInOptions): (exchange: Exchange) => Promise<boolean> {
  return async (exchange) => {
    if (exchange.path === '/sign-in') await answerPerson(exchange, () => answerSignIn(exchange, options));
    else if (exchange.path === '/sign-out') await answerSignOut(exchange, options);
    else return false;
    return true;
  };
}

/**
 * A link is used up by a person who opens it, and by nothing that only looks ahead (T31): a HEAD and a prefetch are
 * answered without it, and so is the first request of a person who comes from another site, whose browser keeps the
 * cookie back until he comes from a page of ours.
 */
async function answerSignIn(exchange: Exchange, options: SignInOptions): Promise<void> {
  const { auth, sessions } = options;
  allowMethods(exchange, ['GET', 'HEAD']);
  if (auth !== 'required') return respondPage(exchange, signInNotNeededPage);
  if (exchange.request.method === 'HEAD') return respondPage(exchange, { ...reloadPage, title: 'Sign in' });
  if (isPrefetch(exchange)) return respond(exchange, { status: 503, headers: {}, body: '' });
  if (comesFromElsewhere(exchange, sessions)) return respondPage(exchange, reloadPage);
  const code = new URLSearchParams(exchange.search).get('code') ?? '';
  const secret = randomBytes(32).toString('base64url');
  const begun = await useSignIn(options.context, { code, secret });
  if (begun !== null) {
    options.logger.info('A browser signed in.', {
      requestId: exchange.requestId,
      sessionId: begun.sessionId,
    });
    return goOn(exchange, { 'set-cookie': sessions.setCookie(secret) });
  }
  // Whoever is signed in and opens the link again wants to get to the page.
  if (await isSignedIn(exchange, options)) return goOn(exchange, {});
  return respondPage(exchange, deadLinkPage);
}

async function answerSignOut(exchange: Exchange, { context, sessions }: SignInOptions): Promise<void> {
  allowMethods(exchange, ['POST']);
  await readBody(exchange);
  const secret = sessions.readSecret(exchange.request);
  if (secret === null) throw signInEnded();
  sessions.requireOwnPage(exchange.request, secret);
  const signedIn = await authenticateSession(context, secret);
  if (signedIn !== null) await signOut(context, signedIn.caller);
  exchange.response.setHeader('set-cookie', sessions.clearCookie());
  respondJson(exchange, 200, { signedOut: true });
}

/** A navigation from a page of another site, with which browsers do not send a cookie that is `SameSite=Strict`. */
export function comesFromElsewhere({ request }: Exchange, sessions: Sessions): boolean {
  return request.headers['sec-fetch-site'] === 'cross-site' && sessions.readSecret(request) === null;
}

async function isSignedIn(exchange: Exchange, { context, sessions }: SignInOptions): Promise<boolean> {
  const secret = sessions.readSecret(exchange.request);
  return secret !== null && (await authenticateSession(context, secret)) !== null;
}

function isPrefetch({ request }: Exchange): boolean {
  const { 'sec-purpose': purpose, purpose: older, 'x-moz': mozilla } = request.headers;
  return [purpose, older, mozilla].some((value) => /prefetch|preview/i.test(String(value ?? '')));
}

/** 303, so that neither the link nor a second sending of it stays in the browser's history. */
function goOn(exchange: Exchange, headers: Readonly<Record<string, string>>): void {
  respond(exchange, {
    status: 303,
    headers: { location: './graphql', 'referrer-policy': 'no-referrer', ...headers },
    body: '',
  });
}
