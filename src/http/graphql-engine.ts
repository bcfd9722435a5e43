import { GraphQLError, parse } from 'graphql';
import { createYoga, type Plugin } from 'graphql-yoga';
import type { Logger } from '../core/logger.ts';
import type { SchemaContext } from '../../schema/context.ts';
import { presentError } from '../../schema/errors.ts';
import { createPriceCheck, limits } from '../../schema/price.ts';
import { schema } from '../../schema/schema.ts';
import { createDocumentCache, noCache } from './document-cache.ts';
import type { GraphqlParams } from './graphql-params.ts';
import type { Answer } from './respond.ts';

/** One GraphQL request whose sender is known and whose parameters have been read. */
export interface GraphqlRequest {
  readonly method: 'GET' | 'POST';
  readonly accept: string | undefined;
  readonly params: GraphqlParams;
  readonly context: SchemaContext;
}

export type GraphqlEngine = (request: GraphqlRequest) => Promise<Answer>;

interface EngineContext extends SchemaContext {
  readonly given: GraphqlParams;
}
type EnginePlugin = Plugin<EngineContext, EngineContext>;

/**
 * Yoga with everything off that is not wanted here (finding 13): no page, no CORS, no uploads, no batches, and no
 * masking of its own, since every error of every answer goes through `presentError`.
 */
export function createGraphqlEngine(logger: Logger): GraphqlEngine {
  const yoga = createYoga<EngineContext>({
    schema,
    graphqlEndpoint: '/graphql',
    cors: false,
    multipart: false,
    batching: false,
    graphiql: false,
    landingPage: false,
    logging: false,
    maskedErrors: false,
    parserAndValidationCache: { documentCache: createDocumentCache(), errorCache: noCache },
    plugins: [takeParams, limitParser, limitPrice(), presentErrors(logger)],
  });
  return async ({ method, accept, params, context }) => {
    const headers = { accept: accept ?? 'application/json', 'content-type': 'application/json' };
    const init = { method, headers: method === 'GET' ? { accept: headers.accept } : headers };
    const response = await yoga.fetch('http://localhost/graphql', init, { ...context, given: params });
    return { status: response.status, headers: answerHeaders(response), body: await response.text() };
  };
}

/** What Yoga says about its answer; how it is carried is the server's to say. */
function answerHeaders({ headers }: Response): Record<string, string> {
  const names = ['allow', 'content-type', 'retry-after'];
  return Object.fromEntries(names.map((name) => [name, headers.get(name)] as const).filter(isGiven));
}

function isGiven(header: readonly [string, string | null]): header is readonly [string, string] {
  return header[1] !== null;
}

/** The parameters were read and checked by stricter rules than Yoga's. */
const takeParams: EnginePlugin = {
  onRequestParse: ({ serverContext, setRequestParser }) =>
    setRequestParser(() => ({ ...serverContext.given })),
};

/** T32: parsing is bounded by tokens, and so are comments, which are no tokens. */
const limitParser: EnginePlugin = {
  onParse: ({ setParseFn }) =>
    setParseFn((source, options) =>
      parse(source, { ...options, maxLexicalTokens: limits.tokens, maxComments: limits.tokens }),
    ),
};

function limitPrice(): EnginePlugin {
  const check = createPriceCheck(schema);
  return {
    onExecute({ args: { document, operationName, variableValues }, setResultAndStopExecution }) {
      const error = check({ document, operationName, variables: variableValues });
      if (error === null) return;
      const located =
        error instanceof GraphQLError ? error : new GraphQLError(error.message, { originalError: error });
      setResultAndStopExecution({ errors: [located] });
    },
  };
}

function presentErrors(logger: Logger): EnginePlugin {
  return {
    onResultProcess(payload) {
      const { result, serverContext } = payload;
      const report = { requestId: serverContext.requestId, logger };
      if (Symbol.asyncIterator in result || Array.isArray(result) || !result.errors) return;
      const errors = result.errors.map((error) => presentError(error, report));
      payload.setResult({ ...result, errors });
    },
  };
}
