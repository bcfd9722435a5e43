import { maskedMessage, retryAfter } from '../../schema/errors.ts';
import { KnowledgeError, type KnowledgeErrorCode } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import type { Exchange } from './exchange.ts';
import { Refusal } from './refusal.ts';

/** Said with every answer: nothing here is a page, a script or anything to keep. */
export const alwaysHeaders = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'",
  'x-content-type-options': 'nosniff',
} as const;

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** An answer in bytes as they are to be sent. */
export interface BinaryAnswer extends Omit<Answer, 'body'> {
  readonly body: Uint8Array;
}

/** Sends an answer; one that can no longer be sent is dropped in silence. */
export function respond(exchange: Exchange, answer: Answer | BinaryAnswer): void {
  const { request, response, requestId, stalledReaderMs, isOpen } = exchange;
  if (response.headersSent || response.destroyed) return;
  const body = typeof answer.body === 'string' ? Buffer.from(answer.body) : answer.body;
  response.writeHead(answer.status, {
    ...alwaysHeaders,
    'x-request-id': requestId,
    ...answer.headers,
    ...(isOpen() ? {} : { connection: 'close' }),
    ...(answer.status === 304 ? {} : { 'content-length': body.length }),
  });
  response.setTimeout(stalledReaderMs, () => response.destroy());
  response.end(request.method === 'HEAD' ? undefined : body);
}

export function respondJson(exchange: Exchange, status: number, value: unknown): void {
  const headers = { 'content-type': 'application/json; charset=utf-8' };
  respond(exchange, { status, headers, body: JSON.stringify(value) });
}

/** Answers what was thrown on the way, in GraphQL's form of an error; what nobody expected goes to the log. */
export function respondError(exchange: Exchange, error: unknown, logger: Logger): void {
  const refusal = toRefusal(error, exchange.requestId);
  if (refusal.code === 'INTERNAL') {
    const stack = error instanceof Error ? error.stack : String(error);
    logger.error('A request failed unexpectedly.', { requestId: exchange.requestId, error: stack });
  }
  const extensions = { code: refusal.code, requestId: exchange.requestId };
  const headers = { 'content-type': `${acceptedType(exchange)}; charset=utf-8`, ...refusal.headers };
  const body = JSON.stringify({ errors: [{ message: refusal.message, extensions }] });
  respond(exchange, { status: refusal.status, headers, body });
}

/** What a refusal is to the transport, where it is refused before GraphQL answers. */
const statuses: Readonly<Record<KnowledgeErrorCode, number>> = {
  BAD_USER_INPUT: 400,
  UNAUTHENTICATED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  CONFLICT: 409,
  RATE_LIMITED: 429,
  RESET: 409,
  INTERNAL: 500,
  UNAVAILABLE: 503,
};

function toRefusal(error: unknown, requestId: string): Refusal {
  if (error instanceof Refusal) return error;
  if (!(error instanceof KnowledgeError) || error.code === 'INTERNAL') {
    return new Refusal(500, maskedMessage(requestId), { code: 'INTERNAL' });
  }
  const { code, message } = error;
  return new Refusal(statuses[code], message, { code, headers: headersOf(error) });
}

function headersOf({ code, details }: KnowledgeError): Readonly<Record<string, string>> {
  if (code === 'UNAUTHENTICATED') return { 'www-authenticate': 'Bearer' };
  return code === 'UNAVAILABLE' || code === 'RATE_LIMITED' ? retryAfter(details) : {};
}

function acceptedType({ request }: Exchange): string {
  const graphql = 'application/graphql-response+json';
  return request.headers.accept?.includes(graphql) ? graphql : 'application/json';
}
