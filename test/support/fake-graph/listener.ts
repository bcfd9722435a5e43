import {
  createServer as createHttp,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createHttps } from 'node:https';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { randomUUID } from 'node:crypto';
import type { Faults } from './faults.ts';
import { htmlPage, refusal, type Asked, type Reply } from './reply.ts';

/** One request as it came and what it was answered with. A step of a batch has one of its own. */
export interface FakeRequest {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly origin: Asked['origin'];
  readonly method: string;
  /** Path and query as they came over the wire. */
  readonly path: string;
  /** Path of the item it was about; null where it was about none. */
  readonly subject: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly hasAuthorization: boolean;
  readonly batched: boolean;
  /** 0: none was sent. */
  readonly status: number;
}

export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

export interface ListenerOptions {
  readonly host: string;
  readonly port: number;
  readonly certificate: Certificate | null;
  readonly faults: Faults;
  readonly readAsked: (request: Pick<Asked, 'method' | 'path' | 'headers' | 'body'>) => Asked;
  readonly answer: (asked: Asked) => Promise<Reply>;
  readonly onAnswered: (asked: Asked, status: number) => void;
}

/** An open port. */
export interface Listener extends AsyncDisposable {
  readonly origin: string;
}

/** Listens, and does to whole answers what the faults of transport ask for. */
export async function listen(options: ListenerOptions): Promise<Listener> {
  const { certificate, host, port } = options;
  const take = (request: IncomingMessage, response: ServerResponse) =>
    void serve(options, request, response).catch(() => response.destroy());
  const server: Server = certificate === null ? createHttp(take) : createHttps({ ...certificate }, take);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  const { port: taken } = server.address() as AddressInfo;
  return {
    origin: `${certificate === null ? 'http' : 'https'}://${host}:${taken}`,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

async function serve(
  options: ListenerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { faults, onAnswered } = options;
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
  );
  const body = await readBody(request);
  const asked = options.readAsked({ method: request.method ?? '', path: request.url ?? '', headers, body });
  const hang = faults.take('hang', asked);
  if (hang?.at === 'start') return onAnswered(asked, 0);
  const reset = faults.take('reset', asked);
  if (reset?.at === 'start') {
    onAnswered(asked, 0);
    return void response.destroy();
  }
  const reply = dressed(options, asked, await options.answer(asked));
  onAnswered(asked, reply.status);
  const endless = faults.take('endless', asked);
  const { 'content-length': length, ...others } = { ...reply.headers };
  response.writeHead(reply.status, {
    'request-id': randomUUID(),
    date: new Date().toUTCString(),
    ...others,
    ...(length !== undefined && endless === null && { 'content-length': length }),
  });
  if (endless !== null) return sendEndless(response, endless.bytes ?? 2 ** 31);
  if (reset?.at === 'headers') {
    response.flushHeaders();
    await sleep(20);
    return void response.destroy();
  }
  await send(options, { asked, reply, isCut: reset?.at === 'body', hangs: hang !== null }, response);
}

/** The answer with what faults of headers and bodies make of it. */
function dressed(
  { faults }: ListenerOptions,
  asked: Asked,
  reply: Reply,
): Reply & { readonly bytes: Buffer } {
  const spoilt = faults.take('body', asked)?.body;
  const skew = faults.take('clock', asked)?.skewSeconds ?? 0;
  const more = faults.take('headers', asked)?.headers ?? {};
  const clock = skew === 0 ? {} : { date: new Date(Date.now() + skew * 1000).toUTCString() };
  const whole = bytesOf(reply);
  const bytes = spoilt === undefined ? whole : spoiltBytes(spoilt, whole);
  const type =
    spoilt === 'html'
      ? 'text/html'
      : (reply.headers?.['content-type'] ?? (whole.length > 0 ? 'application/json' : null));
  return {
    ...reply,
    status: spoilt === undefined || spoilt === 'cut' ? reply.status : 200,
    headers: {
      ...(type !== null && { 'content-type': type }),
      ...(reply.status !== 204 && { 'content-length': `${bytes.length}` }),
      ...reply.headers,
      ...clock,
      ...more,
    },
    bytes,
  };
}

function bytesOf({ body }: Reply): Buffer {
  if (body === undefined) return Buffer.alloc(0);
  if (Buffer.isBuffer(body)) return body;
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
}

function spoiltBytes(how: 'cut' | 'empty' | 'html' | 'error', whole: Buffer): Buffer {
  switch (how) {
    case 'cut':
      return whole.subarray(0, Math.floor(whole.length / 2));
    case 'empty':
      return Buffer.alloc(0);
    case 'html':
      return Buffer.from(htmlPage);
    case 'error':
      return bytesOf(refusal(500, 'generalException'));
    default:
      return how satisfies never;
  }
}

async function send(
  { faults }: ListenerOptions,
  {
    asked,
    reply,
    isCut,
    hangs,
  }: { asked: Asked; reply: { readonly bytes: Buffer }; isCut: boolean; hangs: boolean },
  response: ServerResponse,
): Promise<void> {
  const { bytes } = reply;
  const half = Math.floor(bytes.length / 2);
  if (isCut) {
    response.write(bytes.subarray(0, half));
    await sleep(20);
    return void response.destroy();
  }
  if (hangs) return void response.write(bytes.subarray(0, half));
  const slow = faults.take('slow', asked);
  if (slow === null) return void response.end(bytes);
  for (let at = 0; at < bytes.length && !response.destroyed; at += slow.chunkBytes) {
    response.write(bytes.subarray(at, at + slow.chunkBytes));
    await sleep(slow.everyMs);
  }
  response.end();
}

async function sendEndless(response: ServerResponse, bytes: number): Promise<void> {
  const chunk = Buffer.alloc(65_536, 'x');
  for (let sent = 0; sent < bytes && !response.destroyed; sent += chunk.length) {
    if (!response.write(chunk))
      await Promise.race([new Promise((done) => response.once('drain', done)), sleep(1000)]);
  }
  response.end();
}

async function readBody(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString();
}
