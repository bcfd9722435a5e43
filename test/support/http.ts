import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { v7 as uuidv7 } from 'uuid';
import { createKey } from '../../src/operations/manage-keys.ts';
import { startHttpServer, type HttpServer, type HttpServerOptions } from '../../src/http/server.ts';
import type { TestDatabase } from './database.ts';
import { recordingLogger } from './graphql.ts';

export interface TestServer extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly key: string;
  readonly server: HttpServer;
  readonly logger: ReturnType<typeof recordingLogger>;
  /** Sends a request with the admin key. */
  send(path: string, init?: RequestInit): Promise<Response>;
  /** Posts a document with the admin key. */
  post(query: string, variables?: Record<string, unknown>): Promise<Response>;
}

/** The real server on a free port, with a key that may do everything. */
export async function startTestServer(
  testDatabase: TestDatabase,
  options: Partial<HttpServerOptions> = {},
): Promise<TestServer> {
  const logger = recordingLogger();
  const server = await startHttpServer({
    context: testDatabase.context(),
    host: '127.0.0.1',
    port: 0,
    publicUrl: null,
    auth: 'required',
    logger,
    readiness: () => Promise.resolve([]),
    ...options,
  });
  const key = await makeKey(testDatabase);
  const send = withKey(key);
  return {
    url: server.url,
    port: server.port,
    key,
    server,
    logger,
    send: (path, init) => send(`${server.url}${path}`, init),
    post: (query, variables = {}) =>
      send(`${server.url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ query, variables }),
      }),
    [Symbol.asyncDispose]: () => server.close(0),
  };
}

/** A fetch that shows a key. */
export function withKey(key: string): typeof fetch {
  return (input, init = {}) => {
    const headers = new Headers(init.headers);
    if (!headers.has('authorization')) headers.set('authorization', `Bearer ${key}`);
    return fetch(input, { ...init, headers });
  };
}

/** A key with these scopes, bound to nothing. */
export async function makeKey(
  testDatabase: TestDatabase,
  change: {
    readonly scopes?: readonly string[];
    readonly agents?: readonly string[] | null;
    readonly expiresAt?: Date | null;
  } = {},
): Promise<string> {
  const keyId = uuidv7().replaceAll('-', '').slice(-12);
  const request = { name: 'test key', scopes: ['admin'], agents: null, environments: null, expiresAt: null };
  const material = { keyId, secret: 'canary-secret-of-a-key' };
  return (await createKey(testDatabase.context(), { ...request, ...change }, material)).key;
}

/** What a server answers to bytes written as they are; ends when the server closes the connection. */
export async function sendRaw(port: number, bytes: string | Uint8Array): Promise<string> {
  const socket = await openSocket(port);
  socket.write(bytes);
  return readToEnd(socket);
}

export async function openSocket(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1' });
  await once(socket, 'connect');
  return socket;
}

export async function readToEnd(socket: Socket): Promise<string> {
  let text = '';
  socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
  socket.on('error', () => undefined);
  await once(socket, 'close');
  return text;
}
