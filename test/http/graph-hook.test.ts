import { createHash } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { sendRaw, startTestServer, type TestServer } from '../support/http.ts';

const isLong = process.env['AGENT_KNOWLEDGE_TEST_LONG'] === '1';

let database: TestDatabase;
let server: TestServer;

beforeAll(async () => {
  database = await createTestDatabase();
  await database.asSuperuser((client) =>
    client.query(
      `insert into agent_knowledge.drive_subscription (drive_id, subscription_id, notification_url, client_state_hash, expires_at, renew_at)
       values ('b!drive', 'sub-1', 'https://knowledge.example/hooks/graph', $1, now() + interval '3 days', now() + interval '1 day')`,
      [createHash('sha256').update('right').digest('hex')],
    ),
  );
});
beforeEach(async () => {
  await database.asSuperuser((client) => client.query('delete from graphile_worker._private_jobs'));
  server = await startTestServer(database, { publicUrl: 'https://knowledge.example' });
});
afterEach(() => server[Symbol.asyncDispose]());
afterAll(async () => {
  await database[Symbol.asyncDispose]();
});

interface Sent {
  readonly subscriptionId?: unknown;
  readonly clientState?: unknown;
  readonly lifecycleEvent?: string;
}

const right = { subscriptionId: 'sub-1', clientState: 'right' };
const wrong = { subscriptionId: 'sub-1', clientState: 'wrong' };

/** As the service sends it: without a key. */
function send(path: string, init: RequestInit = {}): Promise<Response> {
  return fetch(`http://127.0.0.1:${server.port}${path}`, { method: 'POST', ...init });
}

function notify(...value: readonly Sent[]): Promise<Response> {
  const headers = { 'content-type': 'application/json' };
  return send('/hooks/graph', { headers, body: JSON.stringify({ value }) });
}

async function countPolls(): Promise<number> {
  const { rows } = await database.asSuperuser((client) =>
    client.query<{ key: string }>("select key from graphile_worker._private_jobs where key = 'poll'"),
  );
  return rows.length;
}

async function readRow(): Promise<Record<string, unknown>> {
  const { rows } = await database.asSuperuser((client) =>
    client.query('select *, renew_at <= now() as due from agent_knowledge.drive_subscription'),
  );
  return rows[0];
}

describe('a validation', () => {
  it('is answered with the decoded token, as plain text and nothing else (W2, T5)', async () => {
    const token = 'Validation: Testing <script>alert(1)</script> & 100% + \u00e9\u0000\r\nx';
    for (const spelled of [encodeURIComponent(token), encodeURIComponent(token).replaceAll('%20', '+')]) {
      const answer = await send(`/hooks/graph?validationToken=${spelled}`);
      expect(answer.status).toBe(200);
      expect(answer.headers.get('content-type')).toBe('text/plain');
      expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
      expect(await answer.text()).toBe(token);
    }
    expect(await countPolls()).toBe(0);
  });

  it('is refused where the token is empty or longer than 4 KB (T5)', async () => {
    const ask = async (token: string) => (await send(`/hooks/graph?validationToken=${token}`)).status;
    expect(await ask('x'.repeat(4096))).toBe(200);
    expect(await ask('x'.repeat(4097))).toBe(400);
    expect(await ask('%C3%A9'.repeat(2049))).toBe(400);
    expect(await ask('')).toBe(400);
  });
});

describe('a notification', () => {
  it('with the secret of our subscription has a daemon poll, and any number of them once (W2, T5)', async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, () => notify(right, right)));
    expect(answers.map((answer) => answer.status)).toEqual(Array.from({ length: 50 }, () => 202));
    expect(await countPolls()).toBe(1);
    expect(await readRow()).toMatchObject({ notified_at: expect.any(Date) });
  });

  it('that comes right after a poll was asked for has another one asked for when the second is over', async () => {
    await notify(right);
    await database.asSuperuser((client) => client.query('delete from graphile_worker._private_jobs'));
    await notify(right);
    expect(await countPolls()).toBe(0);
    await expect.poll(countPolls, { timeout: 3000 }).toBe(1);
  });

  it('with a wrong secret or of an unknown subscription looks accepted and does nothing (T5)', async () => {
    const forged: Sent[] = [
      wrong,
      { subscriptionId: 'sub-2', clientState: 'right' },
      { subscriptionId: 'sub-1' },
      { subscriptionId: 'sub-1', clientState: 7 },
      { subscriptionId: null, clientState: null },
      { subscriptionId: '__proto__', clientState: 'right' },
      { ...wrong, lifecycleEvent: 'subscriptionRemoved' },
    ];
    const answer = await notify(...forged);
    const good = await notify();
    expect([answer.status, await answer.text()]).toEqual([good.status, await good.text()]);
    expect(await countPolls()).toBe(0);
    expect(await readRow()).toMatchObject({ subscription_id: 'sub-1', due: false });
    const told = server.logger.lines.filter(({ level }) => level === 'warn');
    expect(told).toMatchObject([{ fields: { count: forged.length } }]);
  });

  it('is forged 10,000 times and no poll is asked for; the right one among them does ask (T5)', async () => {
    const rounds = isLong ? 250 : 5;
    const many = Array.from({ length: 2000 }, (_, at) => ({ ...wrong, clientState: `guess ${at}` }));
    for (let post = 0; post < 5; post += 1) expect((await notify(...many)).status).toBe(202);
    for (let round = 0; round < rounds; round += 1) {
      await Promise.all(Array.from({ length: 40 }, () => notify(wrong)));
    }
    expect(await countPolls()).toBe(0);
    expect(server.logger.lines.filter(({ level }) => level === 'warn')).toHaveLength(1);
    await notify(...many, right);
    expect(await countPolls()).toBe(1);
  });

  it('of what became of the subscription has it renewed or made anew, and always a poll (W3)', async () => {
    await notify({ ...right, lifecycleEvent: 'missed' });
    expect(await countPolls()).toBe(1);
    expect(await readRow()).toMatchObject({ subscription_id: 'sub-1', due: false });
    await notify({ ...right, lifecycleEvent: 'reauthorizationRequired' });
    expect(await readRow()).toMatchObject({ subscription_id: 'sub-1', due: true });
    await notify({ ...right, lifecycleEvent: 'subscriptionRemoved' });
    expect(await readRow()).toMatchObject({ subscription_id: null, expires_at: null });
    await database.asSuperuser((client) =>
      client.query(
        "update agent_knowledge.drive_subscription set subscription_id = 'sub-1', renew_at = now() + interval '1 day'",
      ),
    );
  });
});

describe('whatever else is sent', () => {
  it('is refused where it is no JSON, no list, too long, another type or another method', async () => {
    const json = { 'content-type': 'application/json' };
    const status = async (init: RequestInit) => (await send('/hooks/graph', init)).status;
    expect(await status({ headers: json, body: '{' })).toBe(400);
    expect(await status({ headers: json, body: '[]' })).toBe(400);
    expect(await status({ headers: json, body: '{"value":{}}' })).toBe(400);
    expect(await status({ headers: json, body: 'null' })).toBe(400);
    expect(await status({ headers: json, body: '{"value":[null,7,"x",[]]}' })).toBe(202);
    expect(await status({ headers: json, body: ' '.repeat(300_000) })).toBe(413);
    expect(await status({ headers: { 'content-type': 'text/plain' }, body: '{"value":[]}' })).toBe(415);
    expect((await send('/hooks/graph', { method: 'GET' })).status).toBe(405);
    expect((await send('/hooks/graph/')).status).toBe(404);
  });

  it('is refused for another host (T3)', async () => {
    const request =
      'POST /hooks/graph?validationToken=x HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n';
    expect(await sendRaw(server.port, request)).toMatch(/^HTTP\/1.1 421 /);
  });
});
