import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { loadSettings } from '../../config/settings.ts';
import { judgeAnswer } from '../../src/core/notice-delivery.ts';
import { openWebhookReceiver } from '../../src/webhook/webhook-receiver.ts';
import { catcherSecret, NoticeCatcher, readNotice } from '../support/notice-catcher.ts';

const body = JSON.stringify({
  type: 'knowledge.loaded',
  timestamp: '2026-01-01T00:00:00.000Z',
  data: { ü: 1 },
});
const never = new AbortController().signal;

let catcher: NoticeCatcher;
beforeEach(async () => {
  catcher = await NoticeCatcher.open();
});
afterEach(() => catcher[Symbol.asyncDispose]());

const receiverAt = (url: string, secret = catcherSecret, deadlineMs = 30_000) =>
  openWebhookReceiver({
    url,
    secret: new TextEncoder().encode(secret),
    userAgent: 'agent-knowledge/test',
    clock: () => new Date(),
    deadlineMs,
  });
/** Says these bytes to whoever connects, which no HTTP server would. */
async function openRawServer(greet: (socket: Socket) => void) {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined); // The other side may leave as it likes.
    socket.on('close', () => sockets.delete(socket));
    socket.once('data', () => greet(socket));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    connections: () => sockets.size,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
const send = (url = catcher.url, signal = never) => receiverAt(url).send({ id: 'msg_1', body }, signal);

describe('a notice on its way', () => {
  test('is signed so that the library and a receiver of our own both accept it, under its own id', async () => {
    expect(await send()).toEqual({ kind: 'answered', status: 204, retryAfterSeconds: null });
    const [request] = catcher.requests;
    expect(catcher.notices()).toMatchObject([{ id: 'msg_1', type: 'knowledge.loaded', data: { ü: 1 } }]);
    expect(request?.path).toBe('/hidden-path?token=hidden-token');
    expect(request?.headers).toMatchObject({
      'content-type': 'application/json',
      'user-agent': 'agent-knowledge/test',
      authorization: `Basic ${Buffer.from('hook-user:hook-word').toString('base64')}`,
    });
  });

  test('CONTROL: is refused by the same checks where secret, body, id or either signature is another', async () => {
    await send();
    const request = catcher.requests[0]!;
    expect(() => readNotice(request, 'another secret of 16')).toThrow('No matching signature');
    expect(() => readNotice({ ...request, text: request.text.replace('1}', '2}') }, catcherSecret)).toThrow(
      'No matching signature',
    );
    for (const [name, value] of [
      ['webhook-id', 'msg_2'],
      ['webhook-timestamp', '1'],
      ['x-hub-signature-256', `sha256=${'0'.repeat(64)}`],
    ] as const)
      expect(() =>
        readNotice({ ...request, headers: { ...request.headers, [name]: value } }, catcherSecret),
      ).toThrow();
  });

  test('is signed with the bytes that a whsec_ secret stands for', async () => {
    const bytes = Buffer.from('0123456789abcdef0123');
    const { webhook } = loadSettings(
      {
        AGENT_KNOWLEDGE_WEBHOOK_URL: catcher.url,
        AGENT_KNOWLEDGE_WEBHOOK_SECRET: `whsec_${bytes.toString('base64')}`,
      },
      '/',
    );
    await openWebhookReceiver({ ...webhook!, userAgent: 'x', clock: () => new Date() }).send(
      { id: 'msg_1', body },
      never,
    );
    expect(catcher.notices(bytes.toString())).toHaveLength(1);
  });

  test.each([
    ['an error', 500],
    ['a redirect, which is not followed', 302],
    ['the wish to be left alone', 410],
  ])('answers with %s', async (_, status) => {
    catcher.answer = () => (response) =>
      response.writeHead(status, { location: `http://127.0.0.1:${catcher.port}/elsewhere` }).end();
    expect(await send()).toMatchObject({ kind: 'answered', status });
    expect(catcher.requests).toHaveLength(1);
  });

  test('hears when it may come again', async () => {
    catcher.answer = () => (response) => response.writeHead(429, { 'retry-after': '7' }).end();
    expect(await send()).toEqual({ kind: 'answered', status: 429, retryAfterSeconds: 7 });
  });

  test.each(['keeps', 'closes'])(
    'takes a change of protocol that it did not ask for as an answer, from one that %s the connection',
    async (does) => {
      await using raw = await openRawServer((socket) => {
        socket.write('HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n');
        if (does === 'closes') socket.end();
      });
      const answer = await send(raw.url);
      expect(answer).toEqual({ kind: 'answered', status: 101, retryAfterSeconds: null });
      expect(judgeAnswer(answer, { attempt: 1, host: 'x', retrySeconds: [5] })).toMatchObject({
        next: 'again',
        error: 'x answered 101.',
      });
      // Nothing of it stays: neither side holds the connection.
      await expect.poll(raw.connections, { timeout: 20_000 }).toBe(0);
    },
  );

  test.each([
    ['closes at once', '', /^cut the connection/],
    ['closes after it said that it goes on', 'HTTP/1.1 102 X\r\n\r\n', /^cut the connection/],
    ['speaks another language', 'SSH-2.0-x\r\n', /HTTP|reached/],
  ])('has no answer from one that %s', async (_, text, why) => {
    await using raw = await openRawServer((socket) => socket.end(text));
    expect(await send(raw.url)).toEqual({ kind: 'unreachable', why: expect.stringMatching(why) });
  });

  test.each([
    ['half a head', 'HTTP/1.1 200 OK\r\n'],
    ['that it goes on, and on', 'HTTP/1.1 102 X\r\n\r\n'],
  ])('gives up at its deadline on a receiver that says %s', async (_, text) => {
    await using raw = await openRawServer((socket) => socket.write(text));
    const answer = await receiverAt(raw.url, catcherSecret, 300).send({ id: 'msg_1', body }, never);
    expect(answer).toEqual({ kind: 'unreachable', why: 'did not answer within 0.3 s.' });
  });

  test('does not read an answer to its end that has none', async () => {
    let isCut = false;
    catcher.answer = () => (response) => {
      response.on('close', () => (isCut = true));
      response.writeHead(200);
      const pour = () => {
        while (!response.destroyed && response.write('x'.repeat(65_536)));
      };
      response.on('drain', pour);
      pour();
    };
    expect(await send()).toMatchObject({ status: 200 });
    await expect.poll(() => isCut, { timeout: 20_000 }).toBe(true);
  });

  test('gives up at its deadline on a receiver that takes it and says nothing', async () => {
    catcher.answer = () => () => undefined;
    const answer = await receiverAt(catcher.url, catcherSecret, 300).send({ id: 'msg_1', body }, never);
    expect(answer).toEqual({ kind: 'unreachable', why: 'did not answer within 0.3 s.' });
  });

  test('is cut short when its process ends, which is no answer', async () => {
    const ending = new AbortController();
    catcher.answer = () => () => ending.abort();
    expect(await send(catcher.url, ending.signal)).toEqual({ kind: 'interrupted' });
  });

  test('names why nobody answers, and nothing of the address but its host', async () => {
    const url = new URL(catcher.url);
    await catcher[Symbol.asyncDispose]();
    const refused = await send(url.href);
    expect(refused).toEqual({ kind: 'unreachable', why: 'refused the connection (ECONNREFUSED).' });
    url.host = 'nobody.invalid';
    const unknown = await send(url.href);
    expect(unknown).toMatchObject({ why: expect.stringMatching(/by name \((ENOTFOUND|EAI_AGAIN)\)\.$/) });
    expect(JSON.stringify([refused, unknown])).not.toMatch(/hidden|hook-/);
    expect(receiverAt(url.href).host).toBe(`nobody.invalid:${url.port}`);
    catcher = await NoticeCatcher.open();
  });

  test('speaks TLS to https, and says so where the other side does not', async () => {
    const answer = await send(catcher.url.replace('http:', 'https:'));
    expect(answer).toMatchObject({ kind: 'unreachable', why: expect.stringContaining('TLS') });
    expect(catcher.requests).toEqual([]);
  });
});
