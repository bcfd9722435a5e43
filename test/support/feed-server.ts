import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';

/** A request as it came over the wire. */
export interface FeedRequest {
  readonly method: string;
  readonly target: string;
  readonly body: unknown;
}

export interface FeedAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** A service that answers what a test says, over real HTTP: for feeds that no healthy drive has. */
export interface FeedServer extends AsyncDisposable {
  readonly url: string;
  readonly requests: FeedRequest[];
  answer: (request: FeedRequest) => FeedAnswer | Promise<FeedAnswer>;
}

export async function startFeedServer(answer: FeedServer['answer']): Promise<FeedServer> {
  const server = createServer((request, response) => {
    void reply(request, response);
  });
  const reply = async (request: IncomingMessage, response: ServerResponse) => {
    const text = await readText(request);
    const [method, target] = [request.method ?? '', request.url ?? ''];
    const asked: FeedRequest = { method, target, body: text === '' ? null : JSON.parse(text) };
    feed.requests.push(asked);
    const { status = 200, headers = {}, body } = await feed.answer(asked);
    response.writeHead(status, { 'content-type': 'application/json', 'request-id': 'req-7', ...headers });
    response.end(body === undefined ? '' : JSON.stringify(body));
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const feed: FeedServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: [],
    answer,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
  return feed;
}

/** A page that names the next one, or, as `delta`, where the next round begins. */
export function pageOf(
  value: readonly unknown[],
  links: { readonly next?: string; readonly delta?: string },
): FeedAnswer {
  return {
    body: {
      value,
      ...(links.next !== undefined && { '@odata.nextLink': links.next }),
      ...(links.delta !== undefined && { '@odata.deltaLink': links.delta }),
    },
  };
}

export function refusalOf(status: number, code: string, inner?: string): FeedAnswer {
  const innerError = inner === undefined ? {} : { innerError: { code: inner } };
  return { status, body: { error: { code, message: 'Words that nobody reads.', ...innerError } } };
}
