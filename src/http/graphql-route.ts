import { createSchemaContext } from '../../schema/context.ts';
import type { Logger } from '../core/logger.ts';
import type { Caller } from '../core/permissions.ts';
import type { Context } from '../operations/context.ts';
import type { Exchange } from './exchange.ts';
import { createGraphqlEngine } from './graphql-engine.ts';
import { parseGet, parsePost } from './graphql-params.ts';
import { respond } from './respond.ts';

/** Answers `POST` and `GET /graphql` for a caller who is known. */
export function createGraphqlRoute(
  context: Context,
  logger: Logger,
): (exchange: Exchange, caller: Caller, body: string) => Promise<void> {
  const engine = createGraphqlEngine(logger);
  return async (exchange, caller, body) => {
    const { request, requestId, search } = exchange;
    const method = request.method === 'GET' ? 'GET' : 'POST';
    const params = method === 'GET' ? parseGet(search) : parsePost(request.headers['content-type'], body);
    const answer = await engine({
      method,
      accept: request.headers.accept,
      params,
      context: createSchemaContext({ ...context, caller }, requestId),
    });
    respond(exchange, answer);
  };
}
