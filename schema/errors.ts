import { GraphQLError } from 'graphql';
import { KnowledgeError } from '../src/core/errors.ts';
import type { Logger } from '../src/core/logger.ts';

/** Where an unexpected error is told in full, and what ties the caller's answer to it. */
export interface ErrorReport {
  readonly requestId: string;
  readonly logger: Logger;
}

/**
 * The one place where an error becomes what a caller sees: a refusal with its code and details, a fault of the
 * document with where it is, and for everything else a sentence without a word of what went wrong, which goes to the
 * log under the request id (T23).
 */
export function presentError(error: unknown, report: ErrorReport): GraphQLError {
  const cause = causeOf(error);
  if (cause instanceof KnowledgeError && cause.code !== 'INTERNAL') return refusal(cause, error);
  if (isAboutTheDocument(error, cause)) return documentFault(error);
  return masked(error, cause, report);
}

function causeOf(error: unknown): unknown {
  return error instanceof GraphQLError && error.originalError ? causeOf(error.originalError) : error;
}

function refusal(cause: KnowledgeError, error: unknown): GraphQLError {
  const http = httpOf(cause);
  return located(cause.message, error, {
    ...cause.details,
    code: cause.code,
    ...(http === null ? {} : { http }),
  });
}

/** The refusals that are the transport's too; every other one is an ordinary answer (`interface.md` 3). */
function httpOf({ code, details }: KnowledgeError): object | null {
  const status = code === 'UNAVAILABLE' ? 503 : code === 'RATE_LIMITED' ? 429 : null;
  if (status === null) return null;
  return { status, headers: retryAfter(details) };
}

/** When to come back, in the whole seconds that HTTP counts in. */
export function retryAfter(details: KnowledgeError['details']): Record<'retry-after', string> {
  const milliseconds = typeof details['retryAfterMs'] === 'number' ? details['retryAfterMs'] : 1000;
  return { 'retry-after': String(Math.ceil(milliseconds / 1000)) };
}

/** All that a caller is told of an error that nobody expected. */
export function maskedMessage(requestId: string): string {
  return `Something went wrong here, and it is not your doing. The log has it under the request id ${requestId}.`;
}

/**
 * Parsing, validation, variables, transport: errors that GraphQL itself raised about what was asked. One that came
 * with a field and does not point into the document is about a value of ours, which is our fault.
 */
function isAboutTheDocument(error: unknown, cause: unknown): error is GraphQLError {
  if (!(error instanceof GraphQLError) || !(cause instanceof GraphQLError)) return false;
  return error.path === undefined || (cause.nodes?.length ?? 0) > 0;
}

function documentFault(error: GraphQLError): GraphQLError {
  const http = error.extensions['http'] ?? { spec: true, status: 400 };
  return located(error.message, error, { code: 'BAD_USER_INPUT', http });
}

function masked(error: unknown, cause: unknown, { requestId, logger }: ErrorReport): GraphQLError {
  logger.error('A request failed unexpectedly.', {
    requestId,
    path: error instanceof GraphQLError ? error.path?.join('.') : undefined,
    error: cause instanceof Error ? cause.stack : String(cause),
  });
  const answered = error instanceof GraphQLError && error.path !== undefined;
  return located(maskedMessage(requestId), error, {
    code: 'INTERNAL',
    requestId,
    ...(answered ? {} : { http: { status: 500 } }),
  });
}

function located(message: string, error: unknown, extensions: Record<string, unknown>): GraphQLError {
  if (!(error instanceof GraphQLError)) return new GraphQLError(message, { extensions });
  const { nodes, source, positions, path } = error;
  return new GraphQLError(message, { nodes, source, positions, path, extensions });
}
