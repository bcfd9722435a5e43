import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openGraph, type GraphOptions } from '../../src/source/graph/graph-client.ts';
import type { Graph } from '../../src/source/graph/graph.ts';

export interface Seen {
  readonly method: string;
  /** As it came over the wire. */
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export interface StandIn extends AsyncDisposable {
  readonly url: string;
  readonly seen: Seen[];
}

/** A real server that answers each request as the test says; `count` is that of the requests before. */
export async function standIn(
  answer: (seen: Seen, response: ServerResponse, count: number) => void,
): Promise<StandIn> {
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const one = { method, url, headers, body: Buffer.concat(chunks).toString() };
      seen.push(one);
      answer(one, response, seen.length - 1);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export function sendJson(response: ServerResponse, body: unknown, status = 200, headers = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

/** A secret that may never stand in an error. */
export const canary = 'canary-7f3a';

/** A client of the stand-in that waits without waiting: its clock is moved on by each sleep, and each is noted. */
export function openHasty(baseUrl: string, options: GraphOptions = {}): { graph: Graph; sleeps: number[] } {
  const sleeps: number[] = [];
  let nowMs = Date.UTC(2026, 0, 1);
  const habits = {
    now: () => nowMs,
    random: () => 0.5,
    sleep: async (ms: number, signal: AbortSignal) => {
      signal.throwIfAborted();
      sleeps.push(ms);
      nowMs += ms;
    },
    json: { headMs: 300, silenceMs: 300, wholeMs: 600, maxBytes: 100_000 },
    content: { headMs: 300, silenceMs: 300, wholeMs: 600 },
    ...options.habits,
  };
  const credentials = { kind: 'token', token: canary } as const;
  const place = { cloud: 'global', baseUrl, authority: null, downloadHosts: [], credentials } as const;
  return { graph: openGraph(place, { ...options, habits }), sleeps };
}
