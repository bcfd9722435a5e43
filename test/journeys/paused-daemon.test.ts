import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Failpoint } from '../../src/core/failpoint.ts';
import { Deployment, onlyWhenAsked, type ApiProcess, type DaemonProcess } from '../support/deployment.ts';
import { eventually, hasEnded, untilSaid } from '../support/processes.ts';
import { readWhole, type WholePackage } from '../support/whole-state.ts';

const long = process.env['AGENT_KNOWLEDGE_TEST_LONG'] === '1';
const debug = { AGENT_KNOWLEDGE_LOG_LEVEL: 'debug' };

const refresh = (agent: string, waitSeconds: number, key: string) =>
  `mutation { refresh(agentKey: "${agent}", waitSeconds: ${waitSeconds}, idempotencyKey: "${key}") {
    id state outcome matchingVersion version { knowledgeVersion } } }`;
const activate = (agent: string, version: string) =>
  `mutation { activate(agentKey: "${agent}", knowledgeVersion: "${version}") { generation } }`;

let deployment: Deployment;
let api: ApiProcess;
let first: DaemonProcess;

beforeEach(async () => {
  deployment = await Deployment.open(['intake', 'other']);
  [api, first] = await Promise.all([
    deployment.startApi(),
    deployment.startDaemon({ ...debug, ...onlyWhenAsked }),
  ]);
}, 180_000);
afterEach(() => deployment[Symbol.asyncDispose]());

describe('a daemon that is paused (R6)', () => {
  test('between its look and its publishing writes nothing once a newer look has published (G10, F6)', async () => {
    const second = await pauseWithOldLook();
    const newest = await whole();
    first.command.process.kill('SIGCONT');
    await untilSaid(first.command, /"outcome":"SUPERSEDED"/);
    expect(await whole()).toEqual(newest);
    // Its request is answered: by itself in these words, or by the other one that took it for dead.
    const { data } = await api.ask(refresh('intake', 30, 'B'));
    expect(data.refresh.outcome).toMatch(/SUPERSEDED|UNCHANGED|LOADED/);
    // What it looks at from now on is as good as ever.
    await second.command.end();
    await deployment.save('intake', 'D');
    const last = await api.ask(refresh('intake', 60, 'D'));
    expect(last.data.refresh.version.knowledgeVersion).toBe(`v${newest.numbers.length + 1}`);
  }, 180_000);

  if (long)
    test('control: without the comparison of tickets the old look becomes the newest version', async () => {
      await pauseWithOldLook();
      const newest = await whole();
      await deployment.database.asSuperuser(async (client) => {
        await client.query('alter table agent_knowledge.package disable trigger all');
        await client.query('update agent_knowledge.package set last_ticket = 0');
        await client.query('alter table agent_knowledge.package enable trigger all');
      });
      first.command.process.kill('SIGCONT');
      const after = await eventually(whole, (now) => now.numbers.length > newest.numbers.length);
      expect(after.active).toBe(newest.numbers.length + 1);
    }, 180_000);

  test('in its transaction is cut off by the server; meanwhile its package is refused in time and others go on (F7)', async () => {
    const before = await whole();
    await failInItsLook('B', 'after version', 'stop');
    const began = performance.now();
    const [own, neighbour] = await Promise.all([
      timed(() => api.ask(activate('intake', 'v1'))),
      timed(() => api.ask(activate('other', 'v1'))),
    ]);
    expect(own.answer.errors?.[0]?.extensions.code).toMatch(/CONFLICT|UNAVAILABLE/);
    expect(own.ms).toBeLessThan(8000);
    expect(neighbour.answer.errors).toBeUndefined();
    // Nothing of its transaction is left, and the package takes changes again, though the daemon still sleeps.
    await eventually(
      () => api.ask(activate('intake', 'v1')),
      ({ errors }) => errors === undefined,
    );
    expect(performance.now() - began).toBeLessThan(long ? 8000 : 15_000); // 5 s by the server's clock.
    expect(await whole()).toEqual(before);

    // Another daemon publishes; the first one wakes, finds its transaction gone, and goes on living.
    await deployment.startDaemon();
    const published = await eventually(whole, (now) => now.numbers.length === before.numbers.length + 1);
    first.command.process.kill('SIGCONT');
    await untilSaid(first.command, /a look failed/);
    expect(await whole()).toEqual(published);
    expect(hasEnded(first.command)).toBe(false);
  }, 180_000);

  if (long)
    test('and one that is killed, is replaced within 30 s by another, though nobody says that it died (G12, F4)', async () => {
      const before = await whole();
      await failInItsLook('B', 'before publish', 'kill');
      await first.command.ended;
      const died = performance.now();
      await deployment.startDaemon();
      expect((await api.ask(refresh('intake', 60, 'B'))).data.refresh.state).toBe('DONE');
      expect(performance.now() - died).toBeLessThan(30_000);
      expect((await whole()).numbers).toHaveLength(before.numbers.length + 1);
    }, 180_000);
});

/** The first daemon is stopped while it holds B; then C is published by a second one, which is answered. */
async function pauseWithOldLook(): Promise<DaemonProcess> {
  await failInItsLook('B', 'before publish', 'stop');
  const before = await whole();
  await deployment.save('intake', 'C');
  const second = await deployment.startDaemon();
  await eventually(whole, (now) => now.active === before.numbers.length + 1);
  if (long) await sleep(20_000);
  return second;
}

/** Asks, under the key `text`, for a refresh with this content, in which the first daemon fails. */
async function failInItsLook(text: string, point: Failpoint, action: 'stop' | 'kill'): Promise<void> {
  await deployment.save('intake', text);
  first.failpoints.plant(point, action);
  await api.ask(refresh('intake', 0, text));
  await first.failpoints.gone();
}

async function whole(): Promise<WholePackage> {
  const found = (await readWhole(deployment.database)).get('intake');
  if (!found) throw new Error('The registry lists intake, and the database has no such package.');
  return found;
}

async function timed<T>(work: () => Promise<T>): Promise<{ readonly answer: T; readonly ms: number }> {
  const began = performance.now();
  const answer = await work();
  return { answer, ms: performance.now() - began };
}
