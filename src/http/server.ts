import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Logger } from '../core/logger.ts';
import type { Context } from '../operations/context.ts';
import { streamLimits } from '../operations/follow-knowledge.ts';
import { allowMethods, openExchange, type Exchange } from './exchange.ts';
import { findCaller, refuseStrangers, type Auth } from './find-caller.ts';
import { createGraphHookRoute } from './graph-hook-route.ts';
import { createGraphiqlRoutes } from './graphiql-route.ts';
import { createGraphqlRoute } from './graphql-route.ts';
import { createHealthRoutes } from './health.ts';
import { allowedHosts, bracketed, checkHost } from './host-check.ts';
import { listen } from './listen.ts';
import { logExchange } from './log-exchange.ts';
import { readBody } from './read-body.ts';
import { Refusal } from './refusal.ts';
import { respondError } from './respond.ts';
import { createSessions } from './session.ts';
import { prepareShutdown } from './shutdown.ts';
import { createSignInRoutes } from './sign-in-route.ts';

export interface HttpServerOptions {
  readonly context: Context;
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
  /** The address by which callers know this server; null: the one it listens on. */
  readonly publicUrl: string | null;
  /** `off` answers everybody as one caller, and is refused unless the server listens on loopback. */
  readonly auth: Auth;
  readonly logger: Logger;
  /** What the process knows to be wrong although it answers, each as a sentence; the warnings of `/readyz`. */
  readonly readiness: () => Promise<readonly string[]>;
  /** For tests, which cannot wait. */
  readonly timeouts?: Partial<typeof defaultTimeouts>;
}

export interface HttpServer {
  readonly url: string;
  readonly port: number;
  /**
   * Takes no more connections, answers what those that are open bring, as their last, and drops what is left when the
   * grace is over.
   */
  close(graceMs: number): Promise<void>;
}

/**
 * Slow senders and readers are let go (T36). What is limited is receiving and sending: between them an answer may take
 * its time, as that of a refresh does.
 */
const defaultTimeouts = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 1000,
  keepAliveTimeout: 5000,
  stalledReaderMs: 30_000,
};

/** Starts the API's server. Throws where the port is taken, in words that say what to do. */
export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  assertLoopback(options);
  const { stalledReaderMs, ...timeouts } = { ...defaultTimeouts, ...options.timeouts };
  const server = createServer(timeouts);
  // Room for every stream and as many ordinary requests (T36, T37).
  server.maxConnections = 2 * streamLimits.perProcess;
  server.maxRequestsPerSocket = 1000;
  const close = prepareShutdown(server);
  const stopping = new AbortController();
  const port = await listen(server, options);
  const isOpen = () => server.listening;
  const answer = createAnswer({ ...options, port, isOpen, stopping: stopping.signal });
  serve(server, answer, { logger: options.logger, stalledReaderMs, isOpen, stopping: stopping.signal });
  return {
    url: options.publicUrl ?? `http://${bracketed(options.host)}:${port}`,
    port,
    close: async (graceMs) => {
      stopping.abort();
      await close(graceMs);
    },
  };
}

/** What happens to a request, in order. Whatever refuses it throws. */
function createAnswer(
  options: HttpServerOptions & Pick<Exchange, 'isOpen' | 'stopping'>,
): (exchange: Exchange) => Promise<void> {
  const { context, auth, logger } = options;
  const hosts = allowedHosts(options);
  const known = { ...options, sessions: createSessions(options) };
  const answerHealth = createHealthRoutes(options);
  const answerGraphHook = createGraphHookRoute(options);
  const answerSignIn = createSignInRoutes(known);
  const answerGraphiql = createGraphiqlRoutes(known);
  const answerGraphql = createGraphqlRoute(context, logger);
  return async (exchange) => {
    checkHost(exchange, hosts);
    if (await answerHealth(exchange)) return;
    if (await answerGraphHook(exchange)) return;
    if (await answerSignIn(exchange)) return;
    if (await answerGraphiql(exchange)) return;
    if (exchange.path !== '/graphql') throw new Refusal(404, 'There is nothing here.', { code: 'NOT_FOUND' });
    allowMethods(exchange, ['GET', 'POST']);
    refuseStrangers(exchange, auth);
    const body = await readBody(exchange);
    const caller = await findCaller(context, exchange, known);
    await answerGraphql(exchange, caller, body);
  };
}

function serve(
  server: Server,
  answer: (exchange: Exchange) => Promise<void>,
  {
    logger,
    ...habits
  }: { readonly logger: Logger } & Pick<Exchange, 'stalledReaderMs' | 'isOpen' | 'stopping'>,
): void {
  server.on('error', (error) => logger.error('A connection could not be accepted.', { error: error.stack }));
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const exchange = openExchange(request, response, habits);
    logExchange(exchange, logger);
    answer(exchange).catch((error: unknown) => {
      // A sender who has hung up has nothing wrong with him that a log should hold.
      if (!request.destroyed || request.complete) respondError(exchange, error, logger);
    });
  });
}

/** T52: nobody but this machine may reach a server that asks for no key. */
function assertLoopback({ auth, host }: HttpServerOptions): void {
  if (auth === 'required' || ['localhost', '::1', '[::1]'].includes(host) || /^127(\.\d{1,3}){3}$/.test(host))
    return;
  throw new Error(
    `AGENT_KNOWLEDGE_AUTH=off is accepted only on loopback, and AGENT_KNOWLEDGE_HOST is ${host}. Use 127.0.0.1, or require keys.`,
  );
}
