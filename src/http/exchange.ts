import type { IncomingMessage, ServerResponse } from 'node:http';
import { v7 as uuidv7 } from 'uuid';
import { Refusal } from './refusal.ts';

/** One request and its answer. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The caller's own, where it is harmless in a log line; else a new one. */
  readonly requestId: string;
  readonly path: string;
  readonly search: string;
  /** How long a client may take nothing of its answer before it is let go. */
  readonly stalledReaderMs: number;
  /** False from the moment the server is asked to stop: an answer is then the last on its connection. */
  readonly isOpen: () => boolean;
  /** Aborted at that moment: streams end. */
  readonly stopping: AbortSignal;
}

export function openExchange(
  request: IncomingMessage,
  response: ServerResponse,
  habits: Pick<Exchange, 'stalledReaderMs' | 'isOpen' | 'stopping'>,
): Exchange {
  const requestId = chooseRequestId(request.headers['x-request-id']);
  const { pathname, search } = splitTarget(request.url ?? '');
  return { request, response, requestId, path: pathname, search, ...habits };
}

/** F73: an id is echoed into headers and logs, so only what can do no harm there is taken over. */
function chooseRequestId(given: string | string[] | undefined): string {
  return typeof given === 'string' && /^[A-Za-z0-9._-]{1,64}$/.test(given) ? given : uuidv7();
}

/** Path and query as they stand: nothing is normalised, so no other spelling of a path leads anywhere. */
function splitTarget(target: string): { pathname: string; search: string } {
  const mark = target.indexOf('?');
  if (mark === -1) return { pathname: target, search: '' };
  return { pathname: target.slice(0, mark), search: target.slice(mark + 1) };
}

/** Refuses every method but these. */
export function allowMethods({ request }: Exchange, methods: readonly string[]): void {
  if (methods.includes(request.method ?? '')) return;
  const allow = methods.join(', ');
  throw new Refusal(405, `This path takes ${allow}.`, { headers: { allow } });
}
