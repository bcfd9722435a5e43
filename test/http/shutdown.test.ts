import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startFakeDaemon } from '../support/fake-daemon.ts';
import { openSocket, readToEnd, startTestServer } from '../support/http.ts';
import { registerAgent } from '../support/knowledge.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database[Symbol.asyncDispose]());

it('answers what open connections still bring, as their last, and lets go of those that bring nothing (F13)', async () => {
  await registerAgent(database, { agentKey: 'closing', files: { 'a.md': '' } });
  await using _daemon = await startFakeDaemon(database);
  const own = await startTestServer(database);
  const health = `GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:${own.port}\r\n\r\n`;
  const underWay = own.post('mutation { refresh(agentKey: "closing", waitSeconds: 1) { state } }');
  const [late, idle, silent] = [
    await openSocket(own.port),
    await openSocket(own.port),
    await openSocket(own.port),
  ];
  const all = Promise.all([readToEnd(late), readToEnd(idle), readToEnd(silent)]);
  // Both have had an answer when the server is asked to stop, and are kept alive.
  for (const socket of [late, idle]) {
    const answered = new Promise((resolve) => socket.once('data', resolve));
    socket.write(health);
    await answered;
  }
  await new Promise((resolve) => setTimeout(resolve, 200));
  const closed = own.server.close(20_000);
  late.write(health);

  const [lateSaid, idleSaid, silentSaid] = await all;
  expect(lateSaid.match(/HTTP\/1\.1 200 /g)).toHaveLength(2);
  expect(lateSaid.match(/connection: (keep-alive|close)/gi)).toEqual([
    'Connection: keep-alive',
    'connection: close',
  ]);
  expect(idleSaid.match(/HTTP\/1\.1 200 /g)).toHaveLength(1);
  expect(silentSaid).toBe('');
  const answer = await underWay;
  expect([answer.status, answer.headers.get('connection')]).toEqual([200, 'close']);
  await closed;
});
