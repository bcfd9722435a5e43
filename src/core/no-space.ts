import { KnowledgeError } from './errors.ts';

/** Milliseconds after which it is worth asking again: a disk is not emptied in one. */
const retryAfterMs = 10_000;

/** The refusal where the database's disk is full, or so nearly full that nothing may be captured (F29). */
export function noSpace(message: string, cause?: unknown): KnowledgeError {
  return new KnowledgeError('UNAVAILABLE', message, { details: { retryAfterMs, reason: 'no_space' }, cause });
}

/** Whether an error says that there is no space: it passes by itself, once somebody has made room. */
export function isNoSpace(error: unknown): error is KnowledgeError {
  return error instanceof KnowledgeError && error.details['reason'] === 'no_space';
}
