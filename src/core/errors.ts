/**
 * What a refusal is called at every door (`interface.md` 4: `extensions.code`). Each door maps a code once:
 * GraphQL to `extensions.code`, the command line to an exit code.
 */
export const knowledgeErrorCodes = [
  'NOT_FOUND',
  'BAD_USER_INPUT',
  'UNAUTHENTICATED',
  'FORBIDDEN',
  'CONFLICT',
  'RATE_LIMITED',
  'RESET',
  'UNAVAILABLE',
  'INTERNAL',
] as const;
export type KnowledgeErrorCode = (typeof knowledgeErrorCodes)[number];

/**
 * A refusal: the caller asked for something that is not to be had, and the message says what was expected and what
 * was found. It never carries a secret or a file's body, so every door may show it as it is.
 */
export class KnowledgeError extends Error {
  override readonly name = 'KnowledgeError';
  readonly code: KnowledgeErrorCode;
  /** Machine-readable facts beside the message, such as the current version of a `CONFLICT`. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    code: KnowledgeErrorCode,
    message: string,
    options: { details?: Readonly<Record<string, unknown>>; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.details = options.details ?? {};
  }
}

/** Trouble with a source, named by what happens next: try again soon, wait for the source, or stop until a person acts. */
export class SourceError extends Error {
  override readonly name = 'SourceError';
  readonly next: 'retry' | 'wait' | 'stop';

  constructor(next: 'retry' | 'wait' | 'stop', message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.next = next;
  }
}

/** What an error says, whatever was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
