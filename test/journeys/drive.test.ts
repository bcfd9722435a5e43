import { request as requestHttp } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { findFreePort } from '../../src/store/embedded-postgres/free-port.ts';
import { contentOf, Deployment, type ApiProcess, type DaemonProcess } from '../support/deployment.ts';
import { openStream, type OpenStream } from '../support/event-stream.ts';
import { makeCertificate } from '../support/fake-graph/certificate.ts';
import { startFakeGraph, type FakeGraph } from '../support/fake-graph/fake-graph.ts';
import type { Certificate } from '../support/fake-graph/listener.ts';
import { eventually, untilSaid } from '../support/processes.ts';

/*
 * The main job on a drive, with real processes: a save in the drive → the daemon → PostgreSQL → the API → a subscriber. The
 * stand-in for Microsoft Graph speaks https with a certificate of its own, and gives tokens for the app's secret.
 */

let stack: AsyncDisposableStack;
let certificate: Certificate;
let fake: FakeGraph;
let deployment: Deployment;
/** What leads the product's processes to the stand-in. */
let env: Record<string, string>;

beforeEach(async () => {
  stack = new AsyncDisposableStack();
  certificate = await makeCertificate();
  deployment = stack.use(await Deployment.open(['intake'], { AGENT_KNOWLEDGE_GRAPH_POLL_SECONDS: '1' }));
  fake = stack.use(await startFakeGraph({ root: join(deployment.folder, 'knowledge'), https: certificate }));
  const trusted = join(deployment.folder, 'ca.pem');
  await writeFile(trusted, certificate.cert);
  env = { ...fake.environment('app'), NODE_EXTRA_CA_CERTS: trusted };
}, 60_000);
afterEach(() => stack.disposeAsync());

async function follow(base: string): Promise<OpenStream> {
  return stack.use(await openStream({ url: base, key: 'none' }));
}

const askActive = async (api: ApiProcess) =>
  (
    await api.ask(`{ activeVersion(agentKey: "intake") { knowledgeVersion sourceType files { relativePath content } }
      package(agentKey: "intake") { sourceStale sourceStatus { state outcome reason message } } }`)
  ).data;

/** Everything that the database holds as text. */
async function everyText(): Promise<string> {
  return deployment.database.asSuperuser(async (client) => {
    const { rows } = await client.query<{ name: string }>(
      `select format('%I.%I', table_schema, table_name) as name from information_schema.tables
        where table_schema in ('agent_knowledge', 'graphile_worker') and table_type = 'BASE TABLE'`,
    );
    const texts = [];
    for (const { name } of rows) {
      const { rows: found } = await client.query<{ text: string }>(`select t::text as text from ${name} t`);
      texts.push(...found.map(({ text }) => text));
    }
    return texts.join('\n');
  });
}

test('a save in the drive is told to a subscriber; killed, refused and throttled, it goes on; no secret is told', async () => {
  /** Download addresses, which let in whoever has them. */
  const addresses = new Set<string>();
  const forget = () => {
    for (const { path } of fake.requests) {
      const address = /tempauth=([\w-]+)/.exec(path)?.[1];
      if (address !== undefined) addresses.add(address);
    }
    fake.forget();
  };
  const api = await deployment.startApi();
  const first = await deployment.startDaemon(env);
  const stream = await follow(api.base);
  await deployment.save('intake', 'second');
  expect((await stream.take(1))[0]).toMatchObject({ knowledgeVersion: 'v2', activated: true });
  const { activeVersion } = await askActive(api);
  expect(activeVersion).toMatchObject({ knowledgeVersion: 'v2', sourceType: 'graph' });
  expect(activeVersion.files[0].content).toBe(contentOf('intake', 'second'));

  // Killed and started again: nothing that it holds is downloaded again (bug 37).
  await deployment.save('intake', 'third');
  await stream.take(1);
  // What has been stored is remembered a moment later.
  await sleep(1500);
  forget();
  first.command.process.kill('SIGKILL');
  await first.command.ended;
  const second = await deployment.startDaemon(env);
  expect(fake.downloads).toEqual([]);

  // One who is told to wait asks nobody meanwhile (F62, T1).
  forget();
  fake.fault({ kind: 'status', status: 429, headers: { 'retry-after': '2' }, times: 1 });
  await deployment.save('intake', 'fourth');
  expect((await stream.take(1))[0]).toMatchObject({ knowledgeVersion: 'v4' });
  const [told] = fake.requests.filter(({ status }) => status === 429);
  const early = fake.requests.filter(({ at }) => at > (told?.at ?? 0) + 20 && at < (told?.at ?? 0) + 2000);
  expect(early).toEqual([]);

  // A root that is closed is no deleted file: one alarm, and all of it ends by itself (T9).
  const open = fake.fault({ kind: 'status', status: 403, code: 'accessDenied', match: { origin: 'graph' } });
  await untilSaid(second.command, /the knowledge folder is lost/);
  const frozen = await eventually(
    () => askActive(api),
    ({ package: { sourceStatus } }) => sourceStatus.state === 'missing',
  );
  expect(frozen.package.sourceStatus.message).toMatch(/403/);
  expect(frozen.package.sourceStale).toBe(true);
  expect(frozen.activeVersion.knowledgeVersion).toBe('v4');
  open();
  await deployment.save('intake', 'fifth');
  expect((await stream.take(1))[0]).toMatchObject({ knowledgeVersion: 'v5' });

  // Nothing was written to the drive, and no secret has left the processes.
  expect(fake.writes).toEqual([]);
  const said = [first, second].map(({ command }) => command.stdout() + command.stderr()).join('\n');
  const all = `${said}\n${api.command.stdout()}${api.command.stderr()}\n${await everyText()}`;
  const tokens = fake.requests.map(({ headers }) => (headers['authorization'] ?? '').slice('Bearer '.length));
  forget();
  expect(addresses.size).toBeGreaterThan(3);
  const secrets = [...tokens, ...addresses, fake.clientSecret, fake.token].filter((text) => text !== '');
  expect(secrets.filter((text) => all.includes(text))).toEqual([]);
  // The control: what the processes may tell is found by the same search.
  expect([fake.driveId, 'accessDenied'].filter((text) => all.includes(text))).toHaveLength(2);
}, 90_000);

test('a daemon that is asked to stop while no token comes ends soon (T11)', async () => {
  const daemon = await deployment.startDaemon(env);
  fake.fault({ kind: 'hang', at: 'start', match: { origin: 'authority' } });
  fake.expireTokens();
  await deployment.save('intake', 'never read');
  await sleep(1500);
  const asked = performance.now();
  expect(await daemon.command.end()).toBe(0);
  expect(performance.now() - asked).toBeLessThan(5000);
  expect(daemon.command.stderr()).not.toContain('could not be observed');
}, 60_000);

describe('where the API can be reached over https', () => {
  /** The address by which the service reaches the API, whose own port is another one. */
  async function startFront(apiPort: number): Promise<string> {
    const front = createTlsServer({ ...certificate }, (request, response) => {
      const { method, url, headers } = request;
      const onward = requestHttp(
        { host: '127.0.0.1', port: apiPort, method, path: url, headers },
        (answer) => {
          response.writeHead(answer.statusCode ?? 502, answer.headers);
          answer.pipe(response);
        },
      );
      onward.on('error', () => response.writeHead(502).end());
      request.pipe(onward);
    });
    await new Promise<void>((resolve) => front.listen(0, 'localhost', resolve));
    stack.defer(() => {
      front.closeAllConnections();
      front.close();
    });
    return `https://localhost:${(front.address() as AddressInfo).port}`;
  }

  async function start(): Promise<{ base: string; daemon: DaemonProcess }> {
    const port = await findFreePort(null);
    const publicUrl = await startFront(port);
    const own = { AGENT_KNOWLEDGE_PUBLIC_URL: publicUrl, AGENT_KNOWLEDGE_PORT: `${port}` };
    await deployment.startApi(own);
    const daemon = await deployment.startDaemon({
      ...env,
      ...own,
      AGENT_KNOWLEDGE_GRAPH_POLL_SECONDS: '3600',
    });
    await untilSaid(daemon.command, /changes of the drive are notified/);
    return { base: `http://127.0.0.1:${port}`, daemon };
  }

  test('a notification brings a save in, long before the next poll; a forged one does not (W1, W2, T5)', async () => {
    const { base } = await start();
    const stream = await follow(base);
    // What the start and the new subscription wake is over.
    await sleep(2500);
    const polls = () => fake.requests.filter(({ path }) => path.includes('/delta')).length;
    const before = polls();
    const [held] = fake.subscriptions.all.values();
    const forged = { value: [{ subscriptionId: held?.id, clientState: 'a guess', changeType: 'updated' }] };
    const post = {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(forged),
    };
    expect((await fetch(`${base}/hooks/graph`, post)).status).toBe(202);
    await deployment.save('intake', 'second');
    await sleep(1500);
    expect(polls()).toBe(before);
    expect(await fake.subscriptions.notify()).toEqual([202]);
    expect((await stream.take(1))[0]).toMatchObject({ knowledgeVersion: 'v2' });
  }, 90_000);
});
