import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DaemonCondition } from '../../src/core/daemon-condition.ts';
import { acceptRegistry } from '../../src/operations/accept-registry.ts';
import { beatDaemon } from '../../src/operations/looker.ts';
import { Database } from '../../src/store/database.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { heartbeatOf } from '../support/fake-daemon.ts';
import { openSocket, readToEnd, startTestServer } from '../support/http.ts';
import { loadVersion } from '../support/knowledge.ts';

let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database[Symbol.asyncDispose]());

async function readinessOf(url: string) {
  const response = await fetch(`${url}/readyz`);
  const { ready, faults, warnings } = (await response.json()) as Record<string, unknown>;
  return { status: response.status, ready, faults, warnings };
}

describe('/healthz', () => {
  it('says that the process lives, to anybody and without the database', async () => {
    await using away = await Database.open({ url: 'postgres://nobody@127.0.0.1:1/nothing' });
    await using server = await startTestServer(database, { context: database.context({ database: away }) });
    const response = await fetch(`${server.url}/healthz`);
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ alive: true });
    expect((await fetch(`${server.url}/healthz`, { method: 'HEAD' })).status).toBe(200);
    expect((await fetch(`${server.url}/healthz`, { method: 'POST' })).status).toBe(405);
  });
});

describe('/readyz', () => {
  it('is 503 with the reason until there is content, and 200 from then on', async () => {
    await using own = await createTestDatabase();
    await using server = await startTestServer(own);
    expect(await readinessOf(server.url)).toEqual({
      status: 503,
      ready: false,
      faults: ['No package has an active version yet.'],
      warnings: [],
    });
    await loadVersion(own, { agentKey: 'first', files: { 'a.md': 'text' } });
    expect(await readinessOf(server.url)).toEqual({ status: 200, ready: true, faults: [], warnings: [] });
  });

  it('says that the database is away, and not where it was looked for', async () => {
    await using away = await Database.open({ url: 'postgres://nobody:canary@127.0.0.1:1/canary' });
    await using server = await startTestServer(database, { context: database.context({ database: away }) });
    const readiness = await readinessOf(server.url);
    expect(readiness).toMatchObject({ status: 503, ready: false, faults: [expect.any(String)] });
    expect(JSON.stringify(readiness)).not.toMatch(/canary|127\.0\.0\.1|ECONN/);
  });

  it('passes on as a warning what the process knows to be wrong', async () => {
    await loadVersion(database, { agentKey: 'own_warnings', files: { 'a.md': 'text' } });
    await using server = await startTestServer(database, {
      readiness: () => Promise.resolve(['The connection acts as a superuser.']),
    });
    expect(await readinessOf(server.url)).toEqual({
      status: 200,
      ready: true,
      faults: [],
      warnings: ['The connection acts as a superuser.'],
    });
  });

  it('is not ready from the moment the server is asked to stop', async () => {
    await using server = await startTestServer(database);
    const socket = await openSocket(server.port);
    const ask = `GET /readyz HTTP/1.1\r\nHost: localhost:${server.port}\r\n`;
    // Begun before, so that the connection is not idle.
    socket.write(ask);
    await new Promise((resolve) => setTimeout(resolve, 50));
    const closed = server.server.close(5000);
    socket.write('\r\n');
    expect(await readToEnd(socket)).toMatch(/^HTTP\/1\.1 503 [^]*The server is shutting down\./);
    await closed;
  });

  it('does not show why a check failed that nobody expected to fail', async () => {
    await using server = await startTestServer(database, {
      readiness: () => Promise.reject(new Error('canary')),
    });
    const readiness = await readinessOf(server.url);
    expect(readiness).toMatchObject({ status: 503, faults: ['The check itself failed; the log says why.'] });
    expect(JSON.stringify(server.logger.lines)).toContain('canary');
  });

  it('warns loudly of rights that are too wide and of a door without keys', async () => {
    await using wide = await createTestDatabase();
    await loadVersion(wide, { agentKey: 'wide', files: { 'a.md': 'text' } });
    await wide.asSuperuser((client) =>
      client.query('alter table agent_knowledge.blob disable trigger blob_is_immutable'),
    );
    const { database: own } = wide.context();
    await using server = await startTestServer(wide, {
      auth: { off: wide.context().caller },
      readiness: () => own.faults(),
    });
    expect(await readinessOf(server.url)).toEqual({
      status: 200,
      ready: true,
      faults: [],
      warnings: [
        expect.stringContaining('AGENT_KNOWLEDGE_AUTH is off'),
        expect.stringContaining('blob_is_immutable'),
      ],
    });
  });

  it('warns of a refused registry, and of daemons that are not there, read different registries, lost their folder or get no events, in general words', async () => {
    await using own = await createTestDatabase();
    await loadVersion(own, { agentKey: 'watched', files: { 'a.md': 'text' } });
    const context = own.context();
    const beat = (id: string, condition: Partial<DaemonCondition>) =>
      beatDaemon(context, heartbeatOf({ id, actorId: context.caller.actorId }, condition));
    await using server = await startTestServer(own);
    await acceptRegistry(context, {
      bytes: Buffer.from('{'),
      looker: { id: 'one', actorId: context.caller.actorId },
      watchEnvironments: ['production'],
    });
    expect((await readinessOf(server.url)).warnings).toEqual([
      expect.stringContaining('No daemon is alive'),
      expect.stringContaining('The registry is refused'),
    ]);
    await own.asSuperuser((client) =>
      client.query('update agent_knowledge.registry_state set rejected_checksum = null'),
    );
    await beat('one', { registryOffered: 'a' });
    expect(await readinessOf(server.url)).toMatchObject({ status: 200, warnings: [] });
    await beat('two', { registryOffered: 'b', root: 'missing', rootMessage: '/secret/place is gone' });
    await beat('three', { watcher: 'degraded', watcherMessage: 'no watches in /secret/place' });
    const readiness = await readinessOf(server.url);
    expect(readiness).toMatchObject({ status: 200, ready: true, faults: [] });
    expect(readiness.warnings).toEqual([
      expect.stringContaining('different registries'),
      expect.stringContaining('lost its knowledge folder'),
      expect.stringContaining('no file events'),
    ]);
    expect(JSON.stringify(readiness)).not.toContain('secret');
  });

  it('is not ready when stored content does not read back', async () => {
    await using own = await createTestDatabase();
    await loadVersion(own, { agentKey: 'damaged', files: { 'a.md': 'as captured' } });
    await own.asSuperuser(async (client) => {
      await client.query('set search_path = agent_knowledge');
      await client.query('alter table blob disable trigger blob_is_immutable');
      await client.query('alter table blob drop constraint "a blob is keyed by its own SHA-256"');
      await client.query(`update blob set content = 'as forged'::bytea`);
    });
    await using server = await startTestServer(own);
    expect(await readinessOf(server.url)).toMatchObject({
      status: 503,
      faults: ['A file of damaged in production does not read back.'],
    });
  });

  it('costs the database one check at a time, however many ask', async () => {
    await using server = await startTestServer(database);
    const answers = await Promise.all(Array.from({ length: 50 }, () => readinessOf(server.url)));
    expect(new Set(answers.map((answer) => answer.status)).size).toBe(1);
  });
});
