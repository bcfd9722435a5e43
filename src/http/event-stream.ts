import { setImmediate as otherWork } from 'node:timers/promises';
import type { ExecutionResult, GraphQLError } from 'graphql';
import type { StreamPlace } from '../../schema/context.ts';
import { KnowledgeError } from '../core/errors.ts';
import type { Exchange } from './exchange.ts';
import { alwaysHeaders } from './respond.ts';

/** One GraphQL operation's results as they come. */
export interface StreamAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly results: AsyncIterable<ExecutionResult>;
  readonly stream: StreamPlace;
  /** Makes of an error of the results, or of their end, what a caller sees. */
  readonly present: (error: unknown) => GraphQLError;
}

export const mediaType = 'text/event-stream';

/** Whether a stream may be answered: by its name, by a range of names, or where nothing is said. */
export function acceptsStreams(accept: string): boolean {
  const ranges = acceptedRanges(accept);
  return accept.trim() === '' || [mediaType, 'text/*', '*/*'].some((range) => ranges.includes(range));
}

/** Whether every answer is to be a stream: it is asked for by name, and nothing else that would do is. */
export function onlyStreams(accept: string): boolean {
  const ranges = acceptedRanges(accept);
  return ranges.includes(mediaType) && !ranges.some((range) => range === '*/*' || range.includes('json'));
}

/** What an `Accept` takes; a weight of zero takes nothing. */
function acceptedRanges(accept: string): string[] {
  const ranges = accept
    .toLowerCase()
    .split(',')
    .map((range) => range.trim());
  return ranges
    .filter((range) => range !== '' && !/;\s*q=0(\.0*)?\s*(;|$)/.test(range))
    .map((range) => (range.split(';')[0] ?? '').trim());
}

/** Milliseconds between two signs of life, so that no proxy between takes the connection for dead (T37). */
const keepAliveMs = 15_000;

/** Milliseconds that a reader who was let go has to read why. */
const farewellMs = 5000;

/**
 * Writes results as server-sent events, in the form of GraphQL over SSE's distinct connections: `next` with one result
 * each and the change's number as `id`, at the end `complete`. What is not read is not asked for, so a slow reader holds
 * no memory; one who takes nothing for the time of a stalled reader is told where to go on and let go (F76). A server
 * that stops ends the connection without `complete`, so that clients come back.
 */
export async function respondStream(exchange: Exchange, answer: StreamAnswer): Promise<void> {
  const { response, requestId, stopping } = exchange;
  if (response.destroyed) return endResults(answer.results[Symbol.asyncIterator]());
  response.writeHead(answer.status, {
    ...alwaysHeaders,
    'x-request-id': requestId,
    ...answer.headers,
    'content-type': `${mediaType}; charset=utf-8`,
    'x-accel-buffering': 'no',
    connection: stopping.aborted ? 'close' : 'keep-alive',
  });
  const writer = new EventWriter(exchange, answer.stream);
  writer.signOfLife();
  const results = answer.results[Symbol.asyncIterator]();
  const end = () => void endResults(results);
  response.once('close', end);
  stopping.addEventListener('abort', end);
  // A request that was on its way when the server was asked to stop.
  if (stopping.aborted) end();
  const beats = setInterval(() => writer.signOfLife(), keepAliveMs);
  try {
    await writeAll(writer, results, answer.present);
    if (stopping.aborted) writer.goodbye();
    else writer.complete();
  } catch (error) {
    if (!(error instanceof StalledReader)) throw error;
    await endResults(results);
    writer.fail(answer.present(stalled(answer.stream)));
    writer.complete();
    setTimeout(() => response.destroy(), farewellMs).unref();
  } finally {
    clearInterval(beats);
    stopping.removeEventListener('abort', end);
    response.end();
  }
}

type Results = AsyncIterator<ExecutionResult>;

/** Until the results end, by themselves or by an error, which is then the last of them. */
async function writeAll(
  writer: EventWriter,
  results: Results,
  present: StreamAnswer['present'],
): Promise<void> {
  for (;;) {
    const next = await results.next().catch((error: unknown) => ({ done: 'failed' as const, error }));
    if (next.done === 'failed') {
      writer.fail(present(next.error));
      return;
    }
    if (next.done) return;
    const { errors, ...result } = next.value;
    await writer.next(errors === undefined ? result : { errors: errors.map(present).map(shown), ...result });
    await giveWay();
  }
}

/** Milliseconds that all streams together write before whatever else waits gets its turn (F76). */
const turnMs = 10;
let turn: { readonly began: number; readonly over: Promise<void> } | null = null;

/** Changes that lie ready are made and written without a pause by themselves, for however many readers there are. */
async function giveWay(): Promise<void> {
  turn ??= { began: performance.now(), over: endTurn() };
  if (performance.now() - turn.began > turnMs) await turn.over;
}

async function endTurn(): Promise<void> {
  await otherWork();
  turn = null;
}

class StalledReader extends Error {}

/** The lines of one stream. */
class EventWriter {
  readonly #exchange: Exchange;
  readonly #stream: StreamPlace;

  constructor(exchange: Exchange, stream: StreamPlace) {
    this.#exchange = exchange;
    this.#stream = stream;
  }

  /** Throws `StalledReader` when nothing is taken for too long. */
  async next(result: object): Promise<void> {
    const { sequence } = this.#stream;
    const id = sequence === null ? '' : `id: ${sequence}\n`;
    this.#write(`${id}event: next\ndata: ${JSON.stringify(result)}\n\n`);
    await drained(this.#exchange);
  }

  fail(error: GraphQLError): void {
    this.#write(`event: next\ndata: ${JSON.stringify({ errors: [shown(error)] })}\n\n`);
  }

  complete(): void {
    this.#write('event: complete\ndata: \n\n');
  }

  /** A comment, and where to go on from: the number grows with what the reader does not follow as well. */
  signOfLife(): void {
    const { response } = this.#exchange;
    if (response.writableNeedDrain || response.writableEnded) return;
    const place = this.#stream.place?.() ?? null;
    this.#write(`:\n${place === null ? '' : `id: ${place}\n`}\n`);
  }

  goodbye(): void {
    this.#write('retry: 1000\n: The server stops. Come back with the last id.\n\n');
  }

  #write(text: string): void {
    const { response } = this.#exchange;
    if (!response.destroyed && !response.writableEnded) response.write(text);
  }
}

/** An error without what it says to the transport. */
function shown(error: GraphQLError): object {
  const { http: _transport, ...extensions } = error.extensions;
  return { ...error.toJSON(), extensions };
}

/** Waits until the reader has taken what was written. */
async function drained({ response, stalledReaderMs, stopping }: Exchange): Promise<void> {
  if (!response.writableNeedDrain || response.destroyed) return;
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => settle(() => reject(new StalledReader())), stalledReaderMs);
    const go = () => settle(resolve);
    const settle = (how: () => void) => {
      clearTimeout(timer);
      response.off('drain', go).off('close', go);
      stopping.removeEventListener('abort', go);
      how();
    };
    response.on('drain', go).on('close', go);
    stopping.addEventListener('abort', go);
  });
}

function stalled({ sequence }: StreamPlace): KnowledgeError {
  return new KnowledgeError(
    'RESET',
    'This stream was not read for too long. Subscribe again behind the last change that was read.',
    { details: { afterSequence: sequence } },
  );
}

async function endResults(results: Results): Promise<void> {
  await results.return?.();
}
