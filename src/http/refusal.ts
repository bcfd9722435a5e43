import type { KnowledgeErrorCode } from '../core/errors.ts';

/** A request that is refused before GraphQL sees it. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;
  readonly code: KnowledgeErrorCode;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    message: string,
    options: {
      readonly code?: KnowledgeErrorCode;
      readonly headers?: Readonly<Record<string, string>>;
    } = {},
  ) {
    super(message);
    this.status = status;
    this.code = options.code ?? 'BAD_USER_INPUT';
    this.headers = options.headers ?? {};
  }
}
