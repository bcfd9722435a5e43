import { spawn } from 'node:child_process';
import { createClient } from 'graphql-sse';
import { packageChanged, readEvents, type StreamEvent } from '../event-stream.ts';
import type { StreamFilter } from '../history/stream-record.ts';

export interface StreamAsked {
  /** The server's address, without a path. */
  readonly url: string;
  readonly key: string;
  readonly filter: StreamFilter;
  /** Null: from now on. */
  readonly after: number | null;
  readonly signal: AbortSignal;
}

/** One way to subscribe; what it yields ends, or throws, when the connection does. */
export type Transport = (asked: StreamAsked) => AsyncIterable<StreamEvent>;

/** Plain HTTP; it says by header where to go on, as a browser does. */
export const raw: Transport = async function* raw({ url, key, filter, after, signal }) {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { ...headersOf(key, after), 'content-type': 'application/json' },
    body: JSON.stringify({ query: packageChanged, variables: filter }),
    signal,
  });
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  yield* readEvents(response.body ?? []);
};

/** `curl -N`, as it is pasted into a terminal. */
export const curl: Transport = async function* curl({ url, key, filter, after, signal }) {
  const headers = Object.entries(headersOf(key, after)).flatMap(([name, value]) => [
    '-H',
    `${name}: ${value}`,
  ]);
  const body = JSON.stringify({ query: packageChanged, variables: filter });
  const child = spawn(
    'curl',
    ['-sSNf', ...headers, '-H', 'content-type: application/json', '-d', body, `${url}/graphql`],
    { stdio: ['ignore', 'pipe', 'pipe'], signal },
  );
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString('utf8')));
  child.on('error', () => undefined); // Ended by the signal.
  const ended = new Promise((resolve) => child.once('close', resolve));
  yield* readEvents(child.stdout);
  await ended;
  throw new Error(`curl ended with ${child.exitCode}: ${said.trim()}`);
};

/** The client of graphql-sse, which shows results without their ids and says by argument where to go on. */
export const graphqlSse: Transport = async function* graphqlSse({ url, key, filter, after, signal }) {
  const client = createClient({
    url: `${url}/graphql`,
    headers: { authorization: `Bearer ${key}` },
    retryAttempts: 0,
  });
  const stop = () => client.dispose();
  signal.addEventListener('abort', stop);
  try {
    const variables = { ...filter, afterSequence: after };
    for await (const data of client.iterate({ query: packageChanged, variables })) {
      yield { id: null, event: 'next', data };
    }
  } finally {
    signal.removeEventListener('abort', stop);
    stop();
  }
};

export const transports = { raw, curl, graphqlSse } as const;

function headersOf(key: string, after: number | null): Record<string, string> {
  return {
    accept: 'text/event-stream',
    authorization: `Bearer ${key}`,
    ...(after === null ? {} : { 'last-event-id': String(after) }),
  };
}
