import { createSchemaContext } from '../../schema/context.ts';
import type { Logger } from '../core/logger.ts';
import type { Caller } from '../core/permissions.ts';
import type { Context } from '../operations/context.ts';
import type { Exchange } from './exchange.ts';
import { respondStream } from './event-stream.ts';
import { createGraphqlEngine } from './graphql-engine.ts';
import { parseGet, parsePost } from './graphql-params.ts';
import { Refusal } from './refusal.ts';
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
      context: createSchemaContext({ ...context, caller }, requestId, {
        resumeAfter: readLastEventId(request),
        isWanted: () => !exchange.response.destroyed,
      }),
    });
    if ('results' in answer) await respondStream(exchange, answer);
    else respond(exchange, answer);
  };
}

/** Where a reader that comes back was, as browsers and other readers of event streams say it by themselves. */
function readLastEventId(request: Exchange['request']): number | null {
  const given = request.headers['last-event-id'];
  if (given === undefined || given === '') return null;
  if (typeof given === 'string' && /^[0-9]{1,15}$/.test(given)) return Number(given);
  throw new Refusal(400, 'Last-Event-ID must be the id of an event of this stream: a whole number.');
}
