import { once } from 'node:events';
import { Agent, request, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { streamLimits } from '../../src/operations/follow-knowledge.ts';
import { withdrawKey } from '../../src/operations/manage-keys.ts';
import { readEvents } from '../support/event-stream.ts';
import { makeKey, startTestServer, type TestServer } from '../support/http.ts';
import { growLog } from '../support/knowledge.ts';
import { eventually } from '../support/processes.ts';
import { openStreamPlace, type StreamPlace } from '../support/stream-place.ts';

const long = process.env['AGENT_KNOWLEDGE_TEST_LONG'] === '1';

let place: StreamPlace;
let { database, other, load, stream } = {} as StreamPlace;
beforeAll(async () => {
  place = await openStreamPlace();
  ({ database, other, load, stream } = place);
});
afterAll(() => place[Symbol.asyncDispose]());

async function connectionsOf(name: string): Promise<number> {
  const { rowCount } = await database.asSuperuser((client) =>
    client.query(
      'select from pg_stat_activity where application_name = $1 and datname = current_database()',
      [name],
    ),
  );
  return rowCount ?? 0;
}

describe('the end of a stream', () => {
  it('comes within five seconds of the revocation of its key, at every server, and leaves others open', async () => {
    await load('revoked', 'one');
    const key = await makeKey(database, { scopes: ['knowledge:read'] });
    await using here = await stream({ agentKey: 'revoked' }, { key });
    await using there = await stream({ agentKey: 'revoked' }, { key, url: other.url });
    await using untouched = await stream({ agentKey: 'revoked' });
    const began = performance.now();
    await withdrawKey(database.context(), key.split('_')[1] ?? '');
    for (const ended of [await here.rest(), await there.rest()]) {
      expect(ended.map(({ event }) => event)).toEqual(['next', 'complete']);
      expect(ended[0]?.data.errors[0].extensions.code).toBe('UNAUTHENTICATED');
    }
    expect(performance.now() - began).toBeLessThan(5000);
    await load('revoked', 'two');
    expect(await untouched.take(1)).toMatchObject([{ knowledgeVersion: 'v2' }]);
  });

  it('comes when the key expires', async () => {
    await load('expires', 'one');
    const expiresAt = new Date(Date.now() + 1500);
    const key = await makeKey(database, { scopes: ['knowledge:read'], expiresAt });
    await using open = await stream({ agentKey: 'expires' }, { key });
    const [error] = await open.rest();
    expect(error?.data.errors[0].extensions.code).toBe('UNAUTHENTICATED');
  });

  it('comes without complete when the server stops, so that clients come back', async () => {
    const stopped = await startTestServer(database);
    await load('stopped', 'one');
    await using open = await stream({ agentKey: 'stopped' }, { url: stopped.url, key: stopped.key });
    const rest = open.rest();
    await stopped.server.close(5000);
    expect(await rest).toEqual([]);
  });

  it('holds up no server that was already stopping when it was asked for', async () => {
    const stopped = await startTestServer(database);
    await load('stopping', 'one');
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const post = (query: string) => postOn(agent, stopped, query);
    await post('{ packages { agentKey } }');
    const closed = stopped.server.close(60_000);
    const rest = await post('subscription { packageChanged(agentKey: "stopping") { kind } }');
    expect(rest).toContain('retry: 1000');
    expect(rest).not.toContain('event: complete');
    await closed;
    agent.destroy();
  });

  it('frees everything when clients leave, however they do (F75)', async () => {
    await load('left', 'one');
    const { feed } = database.context();
    for (let round = 0; round < (long ? 1000 : 40); round += 1) {
      const open = await stream({ agentKey: 'left' });
      if (round % 2) void open.next().catch(() => undefined);
      await open[Symbol.asyncDispose]();
    }
    await eventually(
      async () => feed.callers.length,
      (count) => count === 0,
    );
    await eventually(
      () => connectionsOf('agent-knowledge listener'),
      (count) => count === 0,
    );
    expect(await connectionsOf('agent-knowledge')).toBeLessThanOrEqual(10);
  });

  it('is a RESET with the place to go on for a reader who does not read, and nobody else notices (F76)', async () => {
    const impatient = await startTestServer(database, { timeouts: { stalledReaderMs: 300 } });
    await load('slow', 'one');
    await using _close = { [Symbol.asyncDispose]: () => impatient.server.close(0) };
    const socket = connect({ port: impatient.port, host: '127.0.0.1' });
    socket.pause();
    const fields = Array.from(
      { length: 45 },
      (_, index) => `${'padding_'.repeat(45)}${index}: checksum`,
    ).join(' ');
    const body = JSON.stringify({
      query: `subscription { packageChanged(agentKey: "slow", afterSequence: 0) { sequence ${fields} } }`,
    });
    socket.write(
      `POST /graphql HTTP/1.1\r\nhost: 127.0.0.1:${impatient.port}\r\nauthorization: Bearer ${impatient.key}\r\n` +
        `accept: text/event-stream\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    await using fast = await stream({ agentKey: 'slow' }, { url: impatient.url, key: impatient.key });
    await growLog(database, 'slow', 400);
    expect(await fast.take(400)).toHaveLength(400);
    await new Promise((resolve) => setTimeout(resolve, 1000));
    const received = await new Promise<string>((resolve) => {
      let all = '';
      socket.on('data', (chunk: Buffer) => (all += chunk.toString('utf8'))).on('close', () => resolve(all));
      socket.resume();
    });
    const answers = received
      .split('\n')
      .filter((line) => line.startsWith('data: {'))
      .map((line) => JSON.parse(line.slice(6)));
    const reset = answers.at(-1);
    expect(reset.errors[0].extensions.code).toBe('RESET');
    expect(reset.errors[0].extensions.afterSequence).toBe(answers.at(-2)?.data.packageChanged.sequence);
    expect(answers.length).toBeLessThan(401);
  });
});

if (long)
  describe('a stream on which nothing comes', () => {
    it('shows a sign of life again and again, with a place that has grown by what it does not follow', async () => {
      await load('silent', 'one');
      await load('talking', 'one');
      await using open = await stream({ agentKey: 'silent' });
      const signs = readEvents(open.response.body ?? []);
      const first = Number((await signs.next()).value?.id);
      await load('talking', 'two');
      const { value } = await signs.next();
      expect(value).toMatchObject({ event: null, data: null });
      expect(Number(value?.id)).toBeGreaterThan(first);
    }, 60_000);
  });

describe('limits', () => {
  it('are ten streams for a key, and free again when one is closed (T37)', async () => {
    await load('limited', 'one');
    const key = await makeKey(database, { scopes: ['knowledge:read'] });
    const open = [];
    for (let count = 0; count < streamLimits.perCredential; count += 1)
      open.push(await stream({ agentKey: 'limited' }, { key }));
    await using refused = await stream({ agentKey: 'limited' }, { key });
    expect(refused.response.status).toBe(429);
    expect(refused.response.headers.get('retry-after')).toBe('5');
    await open.pop()?.[Symbol.asyncDispose]();
    await eventually(
      async () => {
        const next = await stream({ agentKey: 'limited' }, { key });
        open.push(next);
        return next.response.status;
      },
      (status) => status === 200,
    );
    await using admin = await stream({ agentKey: 'limited' });
    expect(admin.response.status).toBe(200);
    for (const one of open) await one[Symbol.asyncDispose]();
  });

  it('hold for many that ask at the same moment', async () => {
    await load('burst', 'one');
    const key = await makeKey(database, { scopes: ['knowledge:read'] });
    const all = await Promise.all(
      Array.from({ length: 4 * streamLimits.perCredential }, () => stream({ agentKey: 'burst' }, { key })),
    );
    const letIn = all.filter(({ response }) => response.status === 200);
    expect(letIn).toHaveLength(streamLimits.perCredential);
    for (const one of all) await one[Symbol.asyncDispose]();
  });
});

/** What is answered on the one connection that this agent keeps. */
async function postOn(agent: Agent, { port, key }: TestServer, query: string): Promise<string> {
  const asked = request({
    agent,
    port,
    host: '127.0.0.1',
    path: '/graphql',
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: query.startsWith('{') ? 'application/json' : 'text/event-stream',
      authorization: `Bearer ${key}`,
    },
  });
  asked.end(JSON.stringify({ query }));
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  return text(response);
}
