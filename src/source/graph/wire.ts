import {
  Client,
  ResponseType,
  type Context,
  type Middleware,
  type MiddlewareOptions,
} from '@microsoft/microsoft-graph-client';
import type { Exchanged } from './exchange.ts';

/** What goes over the wire for one request; travels along the client's chain, and brings the answer back. */
class Letter implements MiddlewareOptions {
  readonly path: string;
  readonly maxBytes: number | null;
  answer: Exchanged | null = null;
  /** What kept it from an answer, as it was thrown: the client knows only its words. */
  error: unknown = null;

  constructor(path: string, maxBytes: number | null) {
    this.path = path;
    this.maxBytes = maxBytes;
  }
}

/** One request as our transport gets it. */
export interface Outgoing {
  readonly method: string;
  /** To the letter (D17). */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  /** Where other than the usual; null else. */
  readonly maxBytes: number | null;
}

export interface Request {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly maxBytes?: number;
}

/**
 * Microsoft's client with a chain of our own: its token, retry and redirect middlewares refuse other hosts, multiply waits and
 * have no deadlines (graph.md 5). RAW, so that it decodes and judges nothing.
 */
export function openWire(
  baseUrl: string,
  send: (outgoing: Outgoing) => Promise<Exchanged>,
): (request: Request) => Promise<Exchanged> {
  const client = Client.initWithMiddleware({
    baseUrl: `${baseUrl}/`,
    defaultVersion: 'v1.0',
    middleware: new Carrier(send),
  });
  return async ({ method, path, body, headers = {}, maxBytes }) => {
    const letter = new Letter(path, maxBytes ?? null);
    const request = client
      .api('/')
      .responseType(ResponseType.RAW)
      .middlewareOptions([letter])
      .headers({ ...headers });
    try {
      if (method === 'GET') await request.get();
      else if (method === 'POST') await request.post(body);
      else if (method === 'PATCH') await request.patch(body);
      else await request.delete();
    } catch (error) {
      throw letter.error ?? error;
    }
    if (letter.answer === null) throw new Error('The request ended without an answer.');
    return letter.answer;
  };
}

/** The whole chain: carries a letter to our transport, and brings the answer back in it. */
class Carrier implements Middleware {
  readonly #send: (outgoing: Outgoing) => Promise<Exchanged>;

  constructor(send: (outgoing: Outgoing) => Promise<Exchanged>) {
    this.#send = send;
  }

  async execute(context: Context): Promise<void> {
    const letter = context.middlewareControl?.getMiddlewareOptions(Letter);
    if (!(letter instanceof Letter)) throw new Error('A request came without its path.');
    const { method = 'GET', body, headers } = context.options ?? {};
    try {
      letter.answer = await this.#send({
        method,
        path: letter.path,
        headers: Object.fromEntries(new Headers(headers)),
        body: typeof body === 'string' ? body : null,
        maxBytes: letter.maxBytes,
      });
    } catch (error) {
      letter.error = error;
      throw error;
    }
    // The client wants one; nobody reads it.
    context.response = new Response(null, { status: 204 });
  }
}
