import type { Logger } from '../core/logger.ts';
import type { Exchange } from './exchange.ts';

/** One line per request once it is over: never its query string, its headers or a body (T24). */
export function logExchange({ request, response, requestId, path }: Exchange, logger: Logger): void {
  const began = performance.now();
  response.once('close', () => {
    logger.debug('A request was answered.', {
      requestId,
      method: request.method,
      path: path.slice(0, 200),
      status: response.writableFinished ? response.statusCode : null,
      durationMs: Math.round(performance.now() - began),
    });
  });
}
