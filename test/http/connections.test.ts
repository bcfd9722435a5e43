import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startHttpServer } from '../../src/http/server.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { openSocket, readToEnd, sendRaw, startTestServer, type TestServer } from '../support/http.ts';
import { recordingLogger } from '../support/graphql.ts';
import { loadVersion, registerAgent } from '../support/knowledge.ts';
import { startFakeDaemon } from '../support/fake-daemon.ts';

let database: TestDatabase;
let server: TestServer;

beforeAll(async () => {
  database = await createTestDatabase();
  server = await startTestServer(database, {
    timeouts: {
      headersTimeout: 400,
      requestTimeout: 600,
      connectionsCheckingInterval: 50,
      keepAliveTimeout: 300,
    },
  });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

const body = JSON.stringify({ query: '{ packages { agentKey } }' });

function head(change: Record<string, string> = {}): string {
  const headers = {
    host: `127.0.0.1:${server.port}`,
    authorization: `Bearer ${server.key}`,
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    ...change,
  };
  return `POST /graphql HTTP/1.1\r\n${Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}\r\n`;
}

describe('the Host header', () => {
  it.each([
    ['127.0.0.1', true],
    ['localhost', true],
    ['LOCALHOST', true],
    ['[::1]', true],
    ['evil.example', false],
    ['localhost.evil.example', false],
    ['127.0.0.1.evil.example', false],
    ['0.0.0.0', false],
  ])('%s with the port is answered: %s', async (host, answered) => {
    const raw = `GET /healthz HTTP/1.1\r\nHost: ${host}:${server.port}\r\nConnection: close\r\n\r\n`;
    expect(await sendRaw(server.port, raw)).toMatch(answered ? /^HTTP\/1\.1 200 / : /^HTTP\/1\.1 421 /);
  });

  it('without the port, or with another one, is refused', async () => {
    for (const host of ['127.0.0.1', 'localhost:1', 'localhost:', '']) {
      const raw = `GET /graphql HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
      expect(await sendRaw(server.port, raw), host).toMatch(/^HTTP\/1\.1 421 /);
    }
    expect(await sendRaw(server.port, 'GET /healthz HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1\.1 421 /);
  });

  it('may be the public URL’s', async () => {
    await using open = await startTestServer(database, { publicUrl: 'https://knowledge.example' });
    const ask = (host: string) =>
      sendRaw(open.port, `GET /healthz HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    expect(open.url).toBe('https://knowledge.example');
    expect(await ask('knowledge.example')).toMatch(/^HTTP\/1\.1 200 /);
    expect(await ask(`localhost:${open.port}`)).toMatch(/^HTTP\/1\.1 200 /);
    expect(await ask('knowledge.example:8443')).toMatch(/^HTTP\/1\.1 421 /);
    expect(await ask('other.example')).toMatch(/^HTTP\/1\.1 421 /);
  });
});

describe('a slow or broken sender', () => {
  it('of headers is let go', async () => {
    const began = performance.now();
    const socket = await openSocket(server.port);
    socket.write('POST /graphql HTTP/1.1\r\nHost: ');
    expect(await readToEnd(socket)).toMatch(/^HTTP\/1\.1 408 |^$/);
    expect(performance.now() - began).toBeLessThan(5000);
  });

  it('of a body is let go', async () => {
    const began = performance.now();
    const socket = await openSocket(server.port);
    socket.write(head({ 'content-length': '1000' }) + '{"query"');
    expect(await readToEnd(socket)).toMatch(/^HTTP\/1\.1 408 |^$/);
    expect(performance.now() - began).toBeLessThan(5000);
  });

  it('that says nothing is let go, and others are served meanwhile', async () => {
    const sockets = await Promise.all(Array.from({ length: 100 }, () => openSocket(server.port)));
    const response = await server.post('{ packages { agentKey } }');
    expect(response.status).toBe(200);
    for (const socket of sockets) socket.destroy();
  });

  it('that hangs up leaves no trace in the log', async () => {
    server.logger.lines.length = 0;
    for (let n = 0; n < 20; n += 1) {
      const socket = await openSocket(server.port);
      socket.write(head({ 'content-length': '1000' }) + '{"query"');
      await new Promise((resolve) => setTimeout(resolve, 5));
      socket.destroy();
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(server.logger.lines.filter((line) => line.level === 'error')).toEqual([]);
  });

  it('of a body without end is refused', async () => {
    const socket = await openSocket(server.port);
    socket.on('error', () => undefined);
    socket.write(head().replace(/content-length: \d+/, 'transfer-encoding: chunked'));
    const chunk = `10000\r\n${'['.repeat(0x10000)}\r\n`;
    const answered = readToEnd(socket);
    for (let n = 0; n < 40 && !socket.destroyed; n += 1) {
      socket.write(chunk);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    expect(await answered).toMatch(/^HTTP\/1\.1 413 /);
  });

  it.each<[string, (raw: string) => string]>([
    [
      'two ways to say how long the body is',
      (raw) => raw.replace('\r\n\r\n', '\r\ntransfer-encoding: chunked\r\n\r\n'),
    ],
    ['two lengths', (raw) => raw.replace('\r\n\r\n', '\r\ncontent-length: 5\r\n\r\n')],
    ['a length that is none', (raw) => raw.replace(/content-length: \d+/, 'content-length: 1e3')],
    ['a folded header', (raw) => raw.replace('authorization: ', 'x: 1\r\n folded\r\nauthorization: ')],
    ['bare line feeds', (raw) => raw.replaceAll('\r\n', '\n')],
    ['no host', (raw) => raw.replace(/host: .*\r\n/, '')],
    ['headers of 20 KB', (raw) => raw.replace('\r\n\r\n', `\r\nx-long: ${'x'.repeat(20_000)}\r\n\r\n`)],
  ])('of %s is refused', async (_what, change) => {
    expect(await sendRaw(server.port, change(head()) + body)).toMatch(/^HTTP\/1\.1 (400|421|431) /);
  });
});

describe('a reader that does not read', () => {
  it('is let go', async () => {
    await loadVersion(database, { agentKey: 'large', files: { 'a.md': 'x'.repeat(1_000_000) } });
    await using own = await startTestServer(database, { timeouts: { stalledReaderMs: 300 } });
    const contents = Array.from({ length: 16 }, (_, n) => `c${n}: content`).join(' ');
    const document = JSON.stringify({
      query: `{ activeVersion(agentKey: "large") { files { ${contents} } } }`,
    });
    const socket = await openSocket(own.port);
    socket.on('error', () => undefined);
    socket.pause();
    socket.write(
      `POST /graphql HTTP/1.1\r\nHost: localhost:${own.port}\r\nAuthorization: Bearer ${own.key}\r\n`,
    );
    socket.write(`Content-Type: application/json\r\nContent-Length: ${document.length}\r\n\r\n${document}`);
    await vi.waitFor(
      () => expect(own.logger.lines).toMatchObject([{ fields: { path: '/graphql', status: null } }]),
      5000,
    );
    socket.destroy();
  });
});

describe('an answer that takes its time', () => {
  it('is not cut off by the limits on receiving', async () => {
    await registerAgent(database, { agentKey: 'slow', files: { 'a.md': '' } });
    await using _daemon = await startFakeDaemon(database);
    const began = performance.now();
    const response = await server.post('mutation { refresh(agentKey: "slow", waitSeconds: 2) { state } }');
    expect(await response.json()).toEqual({ data: { refresh: { state: 'QUEUED' } } });
    expect(performance.now() - began).toBeGreaterThan(1900);
  });
});

describe('starting', () => {
  it('says which setting to change where the port is taken', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    await expect(startTestServer(database, { port })).rejects.toThrow(
      `Port ${port} on 127.0.0.1 is in use by another program. Set AGENT_KNOWLEDGE_PORT to another port, or to 0 for a free one.`,
    );
    other.close();
  });

  it('says so where the host is no address of this machine', async () => {
    await expect(startTestServer(database, { host: '203.0.113.7' })).rejects.toThrow('AGENT_KNOWLEDGE_HOST');
  });
});

describe('closing', () => {
  it('lets requests under way end, takes no more, and closes connections that are kept alive', async () => {
    await registerAgent(database, { agentKey: 'closing', files: { 'a.md': '' } });
    await using _daemon = await startFakeDaemon(database);
    const own = await startTestServer(database);
    const idle = await openSocket(own.port);
    const idleEnds = readToEnd(idle);
    idle.write(`GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:${own.port}\r\n\r\n`);
    const underWay = own.post('mutation { refresh(agentKey: "closing", waitSeconds: 1) { state } }');
    await new Promise((resolve) => setTimeout(resolve, 300));
    const began = performance.now();
    const closed = own.server.close(10_000);
    await expect(openSocket(own.port)).rejects.toThrow('ECONNREFUSED');
    expect(await (await underWay).json()).toEqual({ data: { refresh: { state: 'QUEUED' } } });
    await closed;
    expect(performance.now() - began).toBeLessThan(3000);
    expect(await idleEnds).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('drops what is still under way when the grace is over', async () => {
    await registerAgent(database, { agentKey: 'dropping', files: { 'a.md': '' } });
    await using _daemon = await startFakeDaemon(database);
    const own = await startTestServer(database);
    const underWay = own.post('mutation { refresh(agentKey: "dropping", waitSeconds: 3) { state } }');
    const dropped = expect(underWay).rejects.toThrow();
    await new Promise((resolve) => setTimeout(resolve, 200));
    const began = performance.now();
    await own.server.close(200);
    expect(performance.now() - began).toBeLessThan(1500);
    await dropped;
  });

  it('may be asked for twice', async () => {
    const own = await startTestServer(database);
    await own.server.close(100);
    await own.server.close(100);
  });
});

function off() {
  return { off: database.context().caller };
}

describe('a server that asks for no key', () => {
  it('answers everybody on this machine as one caller', async () => {
    await using open = await startTestServer(database, { auth: off() });
    const response = await fetch(`${open.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
    expect(response.status).toBe(200);
  });

  it('refuses what a page of another site could send unasked', async () => {
    await using open = await startTestServer(database, { auth: off() });
    const statusOf = async (init: RequestInit, search = '') =>
      (await fetch(`${open.url}/graphql${search}`, init)).status;
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
    ]) {
      expect(
        await statusOf({
          method: 'POST',
          headers: { 'content-type': type, origin: 'https://evil.example' },
          body,
        }),
      ).toBe(415);
    }
    const search = `?query=${encodeURIComponent('{ packages { agentKey } }')}`;
    expect(await statusOf({}, search)).toBe(403);
    expect(await statusOf({ headers: { 'x-graphql-preflight': '1' } }, search)).toBe(200);
    const preflight = await fetch(`${open.url}/graphql`, {
      method: 'OPTIONS',
      headers: {
        origin: 'https://evil.example',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type,x-graphql-preflight',
      },
    });
    expect(preflight.status).toBe(405);
    expect([...preflight.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
  });

  it('refuses what came through a proxy', async () => {
    await using open = await startTestServer(database, { auth: off() });
    for (const header of ['x-forwarded-for', 'forwarded', 'X-Forwarded-Host']) {
      const response = await fetch(`${open.url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', [header]: '10.0.0.1' },
        body,
      });
      expect(response.status, header).toBe(403);
    }
  });

  it('listens on loopback only', async () => {
    for (const host of ['0.0.0.0', '::', '192.0.2.1', 'knowledge.example']) {
      await expect(
        startHttpServer({
          context: database.context(),
          host,
          port: 0,
          publicUrl: null,
          auth: off(),
          logger: recordingLogger(),
          readiness: () => Promise.resolve([]),
        }),
      ).rejects.toThrow('AGENT_KNOWLEDGE_AUTH=off is accepted only on loopback');
    }
  });
});
