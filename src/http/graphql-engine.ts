import { GraphQLError, parse, type ExecutionResult } from 'graphql';
import { createYoga, type Plugin } from 'graphql-yoga';
import type { Logger } from '../core/logger.ts';
import type { SchemaContext } from '../../schema/context.ts';
import { presentError } from '../../schema/errors.ts';
import { createPriceCheck, limits } from '../../schema/price.ts';
import { schema } from '../../schema/schema.ts';
import { acceptsStreams, mediaType, onlyStreams, type StreamAnswer } from './event-stream.ts';
import { createDocumentCache, noCache } from './document-cache.ts';
import type { GraphqlParams } from './graphql-params.ts';
import { Refusal } from './refusal.ts';
import type { Answer } from './respond.ts';

/** One GraphQL request whose sender is known and whose parameters have been read. */
export interface GraphqlRequest {
  readonly method: 'GET' | 'POST';
  readonly accept: string | undefined;
  readonly params: GraphqlParams;
  readonly context: SchemaContext;
}

export type GraphqlEngine = (request: GraphqlRequest) => Promise<Answer | StreamAnswer>;

interface EngineContext extends SchemaContext {
  readonly given: GraphqlParams;
  /** Whether an answer that is no stream is wanted as one. */
  readonly streamsAll: boolean;
  /** Takes over what is to be streamed, which Yoga would write without numbers and at its own pace. */
  readonly take: (taken: Pick<StreamAnswer, 'results' | 'present'>) => void;
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
    plugins: [takeParams, limitParser, limitPrice(), answerResults(logger)],
  });
  return async ({ method, accept = 'application/json', params, context }) => {
    // Yoga is asked for what it can be asked for; streams are taken out of its hands.
    const wanted = onlyStreams(accept) ? 'application/json' : accept;
    const headers =
      method === 'GET' ? { accept: wanted } : { accept: wanted, 'content-type': 'application/json' };
    let taken: Pick<StreamAnswer, 'results' | 'present'> | undefined;
    const serverContext: EngineContext = {
      ...context,
      given: params,
      streamsAll: onlyStreams(accept),
      take: (results) => void (taken = results),
    };
    const response = await yoga.fetch('http://localhost/graphql', { method, headers }, serverContext);
    const answer = { status: response.status, headers: answerHeaders(response) };
    if (taken === undefined) return { ...answer, body: await response.text() };
    if (acceptsStreams(accept)) return { ...answer, ...taken, stream: context.stream };
    await taken.results[Symbol.asyncIterator]().return?.();
    throw notAStreamReader();
  };
}

function notAStreamReader(): Refusal {
  return new Refusal(
    406,
    'A subscription is answered as a stream of events: send it with the header "accept: text/event-stream".',
  );
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
  const limit: NonNullable<EnginePlugin['onExecute']> & NonNullable<EnginePlugin['onSubscribe']> = ({
    args: { document, operationName, variableValues },
    setResultAndStopExecution,
  }) => {
    const error = check({ document, operationName, variables: variableValues });
    if (error === null) return;
    const located =
      error instanceof GraphQLError ? error : new GraphQLError(error.message, { originalError: error });
    setResultAndStopExecution({ errors: [located] });
  };
  return { onExecute: limit, onSubscribe: limit };
}

/** Comes after every other plugin, since what it takes out of Yoga's hands is no longer looked at. */
function answerResults(logger: Logger): EnginePlugin {
  return {
    onResultProcess(payload) {
      const { result, serverContext } = payload;
      if (Array.isArray(result)) return;
      const present = (error: unknown) => presentError(error, { requestId: serverContext.requestId, logger });
      const stream = (taken: Pick<StreamAnswer, 'results' | 'present'>, { status, headers }: Transport) => {
        serverContext.take(taken);
        payload.setResultProcessor(
          (_result, fetchAPI) =>
            new fetchAPI.Response(null, { status: status ?? 200, headers: headers ?? {} }),
          mediaType,
        );
      };
      if (Symbol.asyncIterator in result) {
        stream({ results: result as AsyncIterable<ExecutionResult>, present }, {});
        return;
      }
      const presented = result.errors ? { ...result, errors: result.errors.map(present) } : result;
      if (serverContext.streamsAll)
        stream({ results: once(presented), present: asItIs }, transportOf(presented));
      else payload.setResult(presented);
    },
  };
}

function asItIs(error: unknown): GraphQLError {
  if (error instanceof GraphQLError) return error;
  throw error;
}

/** What the first refusal that is the transport's too says to it; a fault of the document is told in the stream. */
function transportOf({ errors = [] }: ExecutionResult): Transport {
  const told = errors.map(
    ({ extensions }) => extensions['http'] as (Transport & { spec?: true }) | undefined,
  );
  return told.find((http) => http !== undefined && !http.spec) ?? {};
}

interface Transport {
  readonly status?: number;
  readonly headers?: Record<string, string>;
}

async function* once(result: ExecutionResult): AsyncGenerator<ExecutionResult> {
  yield result;
}
