import type { Logger } from '../../src/core/logger.ts';
import { createGraphqlEngine } from '../../src/http/graphql-engine.ts';
import type { CallContext } from '../../src/operations/context.ts';
import { createSchemaContext } from '../../schema/context.ts';

export interface LogLine {
  readonly level: keyof Logger;
  readonly message: string;
  readonly fields: Record<string, unknown> | undefined;
}

/** A logger that keeps its lines. */
export function recordingLogger(): Logger & { readonly lines: LogLine[] } {
  const lines: LogLine[] = [];
  const write = (level: keyof Logger) => (message: string, fields?: Record<string, unknown>) => {
    lines.push({ level, message, fields });
  };
  return {
    lines,
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
  };
}

export interface GraphqlError {
  readonly message: string;
  readonly path?: readonly (string | number)[];
  readonly extensions: Record<string, unknown> & { readonly code: string };
}

export interface GraphqlAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  // Tests know what they asked for; what came back is checked by their expectations.
  readonly data: ReturnType<typeof JSON.parse>;
  readonly errors: readonly GraphqlError[] | undefined;
  readonly text: string;
}

export type Ask = (
  query: string,
  variables?: Record<string, unknown>,
  options?: { readonly call?: CallContext; readonly accept?: string; readonly operationName?: string },
) => Promise<GraphqlAnswer>;

/** Asks the engine that the server uses, without a server; `call` is who asks where a question names nobody. */
export function createAsk(call: () => CallContext, logger: Logger = recordingLogger()): Ask {
  const engine = createGraphqlEngine(logger);
  return async (query, variables = {}, options = {}) => {
    const answer = await engine({
      method: 'POST',
      accept: options.accept,
      params: {
        query,
        variables,
        ...(options.operationName ? { operationName: options.operationName } : {}),
      },
      context: createSchemaContext(options.call ?? call(), 'test-request'),
    });
    if (!('body' in answer)) throw new Error('The answer is a stream.');
    const { status, headers, body } = answer;
    const { data, errors } = JSON.parse(body) as Pick<GraphqlAnswer, 'data' | 'errors'>;
    return { status, headers, data, errors, text: body };
  };
}

/** The codes of an answer's errors. */
export function codesOf(answer: Pick<GraphqlAnswer, 'errors'>): string[] {
  return (answer.errors ?? []).map((error) => error.extensions.code);
}
