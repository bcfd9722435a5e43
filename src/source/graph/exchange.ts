import {
  request as requestClear,
  type Agent,
  type IncomingMessage,
  type OutgoingHttpHeaders,
} from 'node:http';
import { request as requestSecret } from 'node:https';
import type { LookupFunction } from 'node:net';

/** How long one exchange may take, and how much may come. */
export interface ExchangeLimits {
  /** To the head of the answer. */
  readonly headMs: number;
  /** Between two pieces of the body. */
  readonly silenceMs: number;
  readonly wholeMs: number;
  /** Of the body; at most one more is read. */
  readonly maxBytes: number;
}

export interface ExchangeWanted {
  readonly url: URL;
  /** What goes over the wire behind the host, to the letter. */
  readonly path: string;
  readonly method: string;
  readonly headers: OutgoingHttpHeaders;
  readonly body?: string;
  readonly limits: ExchangeLimits;
  readonly agent: Agent;
  readonly lookup?: LookupFunction;
  readonly signal: AbortSignal;
}

export interface Exchanged {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Uint8Array;
  /** Whether the body ended within `maxBytes`. */
  readonly whole: boolean;
}

/** A deadline of an exchange has passed. */
export class DeadlineError extends Error {}

/**
 * One request and its answer, by Node's own HTTP: `fetch` writes addresses anew, and a link must go out as it came (D17).
 * Follows nothing and decodes nothing. Rejects with Node's error, `DeadlineError`, or the signal's reason, always within
 * its limits (T11, F68).
 */
export function exchange(wanted: ExchangeWanted): Promise<Exchanged> {
  const { url, path, method, headers, body, limits, agent, lookup, signal } = wanted;
  signal.throwIfAborted();
  const start = url.protocol === 'https:' ? requestSecret : requestClear;
  return new Promise((resolve, reject) => {
    const asked = start({
      protocol: url.protocol,
      hostname: url.hostname.replace(/^\[|\]$/g, ''),
      port: url.port,
      path,
      method,
      headers,
      agent,
      ...(lookup === undefined ? {} : { lookup }),
    });
    const timers = new Deadlines((what) => end(new DeadlineError(what)));
    const end = (error: unknown): void => {
      timers.clear();
      signal.removeEventListener('abort', onAbort);
      reject(error);
      asked.destroy();
    };
    const onAbort = (): void => end(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    timers.start('whole', limits.wholeMs, 'The answer did not end in time.');
    timers.start('step', limits.headMs, 'There was no answer in time.');
    asked.on('error', end);
    asked.on('upgrade', (_answer, socket) => {
      socket.destroy();
      end(new Error('The protocol was switched.'));
    });
    asked.on('response', (answer) => {
      read(answer, limits, timers, (bytes, whole) => {
        timers.clear();
        signal.removeEventListener('abort', onAbort);
        resolve({ status: answer.statusCode ?? 0, headers: flatten(answer), bytes, whole });
        if (!whole) asked.destroy();
      });
      answer.on('error', end);
      answer.on('aborted', () => end(new Error('The answer broke off.')));
    });
    asked.end(body);
  });
}

function read(
  answer: IncomingMessage,
  { silenceMs, maxBytes }: ExchangeLimits,
  timers: Deadlines,
  done: (bytes: Uint8Array, whole: boolean) => void,
): void {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  const awaitMore = (): void => timers.start('step', silenceMs, 'The answer fell silent.');
  awaitMore();
  answer.on('data', (chunk: Uint8Array) => {
    awaitMore();
    chunks.push(chunk);
    sizeBytes += chunk.length;
    if (sizeBytes > maxBytes) done(Buffer.concat(chunks).subarray(0, maxBytes + 1), false);
  });
  answer.on('end', () => done(Buffer.concat(chunks), sizeBytes <= maxBytes));
}

function flatten(answer: IncomingMessage): Record<string, string> {
  const pairs = Object.entries(answer.headers).map(([name, value]): [string, string] => [
    name,
    Array.isArray(value) ? value.join(', ') : (value ?? ''),
  ]);
  return Object.fromEntries(pairs);
}

/** Timers that keep the process alive: whoever asked gets an answer. */
class Deadlines {
  readonly #late: (what: string) => void;
  readonly #timers = new Map<'whole' | 'step', NodeJS.Timeout>();

  constructor(late: (what: string) => void) {
    this.#late = late;
  }

  start(name: 'whole' | 'step', ms: number, what: string): void {
    clearTimeout(this.#timers.get(name));
    this.#timers.set(
      name,
      setTimeout(() => this.#late(what), ms),
    );
  }

  clear(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
  }
}
