import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { readFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { Deployment, onlyWhenAsked, type ApiProcess, type DaemonProcess } from '../support/deployment.ts';
import { startLoad } from '../support/keep-alive-load.ts';
import { entry, eventually, hasEnded, untilSaid } from '../support/processes.ts';
import { isRunning, until } from '../support/watched-processes.ts';
import { readWhole } from '../support/whole-state.ts';

const long = process.env['AGENT_KNOWLEDGE_TEST_LONG'] === '1';
const debug = { AGENT_KNOWLEDGE_LOG_LEVEL: 'debug' };

const refresh = (agent: string, waitSeconds: number, key = '') =>
  `mutation { refresh(agentKey: "${agent}", waitSeconds: ${waitSeconds}${key && `, idempotencyKey: "${key}"`}) {
    id state outcome reason matchingVersion version { knowledgeVersion } } }`;
const active = (agent: string) => `{ activeVersion(agentKey: "${agent}") { knowledgeVersion generation } }`;

describe('two daemons and two APIs on one folder and one database', () => {
  let deployment: Deployment;
  let apis: [ApiProcess, ApiProcess];
  let daemons: [DaemonProcess, DaemonProcess];

  beforeAll(async () => {
    deployment = await Deployment.open(['alpha', 'beta']);
    const quick = { AGENT_KNOWLEDGE_SWEEP_MS: '200' };
    apis = [await deployment.startApi(debug), await deployment.startApi(debug)];
    daemons = await Promise.all([
      deployment.startDaemon({ ...debug, ...quick }),
      deployment.startDaemon({ ...debug, ...quick }),
    ]);
  }, 180_000);
  afterAll(() => deployment[Symbol.asyncDispose]());

  const numbersOf = async (agent: string) =>
    (await readWhole(deployment.database)).get(agent)?.numbers.length ?? 0;

  test('make one version per change, which both APIs serve (G12, F8)', async () => {
    const changes = long ? 20 : 4;
    const before = await numbersOf('alpha');
    const looksBefore = daemons.map((daemon) => looksAt('alpha', daemon));
    for (let change = 1; change <= changes; change += 1) {
      await deployment.save('alpha', `change ${change}`);
      for (const api of apis) {
        await eventually(
          () => api.ask(active('alpha')),
          ({ data }) => data?.activeVersion.knowledgeVersion === `v${before + change}`,
        );
      }
    }
    // Both have looked at the changes: one version each is no luck (control), and none comes later.
    await eventually(
      async () => daemons.map((daemon, index) => looksAt('alpha', daemon) - (looksBefore[index] ?? 0)),
      ([first = 0, second = 0]) => first > 0 && second > 0 && first + second > changes,
    );
    expect(await numbersOf('alpha')).toBe(before + changes);
  }, 180_000);

  test('make one version of a hundred requests at once, through both APIs, and answer all who stay (R2, F40)', async () => {
    const clients = long ? 100 : 30;
    const before = await numbersOf('beta');
    await deployment.save('beta', 'for everybody');
    const apiOf = (client: number) => apis[client % 2 === 0 ? 0 : 1];
    const gone = Array.from({ length: clients / 2 }, (_, client) =>
      apiOf(client)
        .ask(refresh('beta', 30), { timeoutMs: 50 })
        .catch(() => undefined),
    );
    // A client who is told that too many ask at once asks again, with his key.
    const answered = Array.from({ length: clients }, (_, client) =>
      eventually(
        () => apiOf(client).ask(refresh('beta', 30, `client ${client}`)),
        ({ data }) => data?.refresh.state === 'DONE',
        40_000,
      ),
    );
    await Promise.all([...gone, ...answered]);
    expect(await numbersOf('beta')).toBe(before + 1);
  }, 180_000);

  test('a reader that freezes in a file costs that package its look, and no other package anything (F10)', async () => {
    const [first, second] = daemons;
    await second.command.end(); // So that the first one takes the requests.
    const readers = await childrenOf(first);
    await deployment.save('alpha', 'never read');
    first.failpoints.plant('middle of a file', 'stop');
    await first.failpoints.gone();
    await deployment.save('beta', 'read meanwhile');
    const answer = await apis[0].ask(refresh('beta', 30));
    expect(answer.data.refresh).toMatchObject({ state: 'DONE' });
    // The frozen one is killed at its deadline and replaced; the package is captured by the next look.
    await until(() => readers.some((reader) => !isRunning(reader)), 20_000);
    const { data } = await apis[0].ask(refresh('alpha', 30));
    expect(data.refresh).toMatchObject({ state: 'DONE' });
    const found = data.refresh.version?.knowledgeVersion ?? data.refresh.matchingVersion;
    expect(found).toBe(`v${await numbersOf('alpha')}`);
    expect(hasEnded(first.command)).toBe(false);
  }, 180_000);

  test('SIGTERM under load fails no request that was accepted, answers who waits, and ends the API (F13)', async () => {
    const [api] = apis;
    const daemon = daemons[0].command.process;
    daemon.kill('SIGSTOP'); // So that a refresh is waited for; whoever waits is told how it stands.
    const waiting = api.ask(refresh('alpha', 60));
    const before = unansweredIn(api); // Clients that went away by themselves.
    const load = startLoad(api.base, { clients: 24, query: active('alpha') });
    await until(() => load.answered() > 200, 60_000);
    const at = performance.now();
    expect(await api.command.end()).toBe(0);
    expect(performance.now() - at).toBeLessThan(15_000);
    daemon.kill('SIGCONT');
    await load.over;
    expect(load.results.filter(({ end }) => end === 'failed')).toEqual([]);
    expect((await waiting).data.refresh.state).toMatch(/QUEUED|RUNNING/);
    expect(unansweredIn(api)).toEqual(before);
  }, 180_000);

  test('a second signal ends an API at once, whoever waits (F13)', async () => {
    const [, api] = apis;
    const daemon = daemons[0].command.process;
    daemon.kill('SIGSTOP');
    const waiting = api.ask(refresh('beta', 60)).catch((error: Error) => error);
    await untilAsked('beta');
    api.command.process.kill('SIGTERM');
    await untilSaid(api.command, /the API stops/);
    await sleep(700); // One Ctrl-C comes twice; that is not meant here.
    expect(await api.command.end()).toBe(130);
    daemon.kill('SIGCONT');
    expect(await waiting).toBeInstanceOf(Error);
  }, 180_000);

  test('an exception that nobody catches ends a daemon and its readers, with an id in the log (F12)', async () => {
    const [daemon] = daemons;
    const readers = await childrenOf(daemon);
    daemon.failpoints.plant('before look', 'throw in nobody’s name');
    await deployment.save('beta', 'the last that it looks at');
    expect(await daemon.command.ended).toBe(70);
    expect(lastWords(daemon)).toMatch(/"level":"error".*"errorId":"[0-9a-f-]{36}".*planted exception/);
    await until(() => !readers.some(isRunning), 20_000);
    await readWhole(deployment.database);
  }, 180_000);

  test('a daemon that waits for files to be still ends when it is asked to, and gives its requests back; then a refresh is QUEUED at once and reads go on (F9, F13)', async () => {
    // Nobody else is to answer, nor to be taken for alive.
    await Promise.all(daemons.map(({ command }) => command.end()));
    await Promise.all(daemons.map((dead) => deployment.letHeartbeatAge(dead)));
    const api = await deployment.startApi();
    const daemon = await deployment.startDaemon({ ...onlyWhenAsked, AGENT_KNOWLEDGE_SETTLE: 'settled' });
    let saves = 0;
    const save = () => deployment.save('beta', `never still ${(saves += 1)}`);
    await save();
    const writing = setInterval(() => void save(), 200);
    onTestFinished(() => clearInterval(writing));
    const asked = await api.ask(refresh('beta', 0, 'given back'));
    await eventually(
      () => api.ask(refresh('beta', 0, 'given back')),
      ({ data }) => data?.refresh.state === 'RUNNING',
    );
    expect(await daemon.command.end()).toBe(0);
    clearInterval(writing);
    const at = performance.now();
    const again = await api.ask(refresh('beta', 60, 'given back'));
    expect(performance.now() - at).toBeLessThan(30_000); // Not the 60 s that a live daemon is waited for.
    expect(again.data.refresh).toEqual({ ...asked.data.refresh, state: 'QUEUED' });
    expect((await api.ask(active('beta'))).data.activeVersion.knowledgeVersion).toMatch(/^v/);

    if (long) {
      // The same by kill -9: a daemon's silence is its death, also for those who wait already.
      const killed = await deployment.startDaemon();
      await killed.command.end('SIGKILL');
      const since = performance.now();
      expect((await api.ask(refresh('beta', 60))).data.refresh.state).toBe('QUEUED');
      expect(performance.now() - since).toBeLessThan(50_000);
    }

    // And at last the API itself comes upon a rejection that nobody awaits (F12).
    api.failpoints.plant('after commit', 'reject in nobody’s name');
    await api.ask(refresh('beta', 0)).catch(() => undefined);
    expect(await api.command.ended).toBe(70);
    expect(lastWords(api)).toMatch(/"level":"error".*"errorId":"[0-9a-f-]{36}".*planted rejection/);
    await readWhole(deployment.database);
  }, 180_000);

  test('a process whose parent has gone before it was ready ends all the same', async () => {
    const child = fork(entry, ['serve'], { env: deployment.env, execPath: process.execPath, silent: true });
    const ended = once(child, 'exit');
    child.disconnect();
    expect(await ended).toEqual([0, null]);
  }, 180_000);

  /** Resolves when a request for this package stands in the database and nobody has answered it. */
  async function untilAsked(agent: string): Promise<void> {
    await eventually(
      () =>
        deployment.database.asSuperuser((client) =>
          client.query(
            `select from agent_knowledge.refresh_attempt where agent_key = $1 and state <> 'DONE'`,
            [agent],
          ),
        ),
      ({ rowCount }) => rowCount === 1,
    );
  }
});

function lastWords({ command }: ApiProcess | DaemonProcess): string {
  return command.stderr().trim().split('\n').at(-1) ?? '';
}

/** How often a daemon's log says that it looked at this package and came to a conclusion. */
function looksAt(agent: string, { command }: DaemonProcess): number {
  return command
    .stderr()
    .split('\n')
    .filter((line) => line.includes(`"agentKey":"${agent}"`) && line.includes('"outcome"')).length;
}

/** The requests that the API's log knows to have ended without an answer. */
function unansweredIn({ command }: ApiProcess): string[] {
  return command
    .stderr()
    .split('\n')
    .filter((line) => line.includes('A request was answered') && line.includes('"status":null'));
}

async function childrenOf({ command }: DaemonProcess): Promise<number[]> {
  const id = command.process.pid;
  const text = await readFile(`/proc/${id}/task/${id}/children`, 'utf8');
  return text.trim().split(' ').map(Number);
}

describe('the load of these tests', () => {
  test.each([
    { what: 'everything at once', close: (server: Server) => server.closeAllConnections(), rounds: 1 },
    { what: 'what is idle', close: (server: Server) => server.closeIdleConnections(), rounds: 50 },
  ])(
    'control: it sees requests fail where a server that stops closes $what',
    async ({ close, rounds }) => {
      let failed = 0;
      for (let round = 0; round < rounds && failed === 0; round += 1) {
        const server = createServer(
          (_request, response) => void setTimeout(() => response.end('{"data":1}'), 2),
        );
        server.listen(0, '127.0.0.1');
        await once(server, 'listening');
        const { port } = server.address() as AddressInfo;
        const load = startLoad(`http://127.0.0.1:${port}`, { clients: 24, query: '' });
        await until(() => load.answered() > 200, 60_000);
        server.close();
        const closing = setInterval(() => close(server), 25);
        await load.over;
        clearInterval(closing);
        failed = load.results.filter(({ end }) => end === 'failed').length;
      }
      expect(failed).toBeGreaterThan(0);
    },
    120_000,
  );
});
