import { afterEach, beforeEach, expect, test } from 'vitest';
import { noticeFailpoints } from '../../src/core/failpoint.ts';
import { Deployment, type DaemonProcess } from '../support/deployment.ts';
import { catcherSecret, NoticeCatcher } from '../support/notice-catcher.ts';
import { findUntold, headOfLog, letNoticesBecomeDue, storedNotices } from '../support/notices.ts';
import { eventually, untilSaid } from '../support/processes.ts';

const long = process.env['AGENT_KNOWLEDGE_TEST_LONG'] === '1';
const debug = { AGENT_KNOWLEDGE_LOG_LEVEL: 'debug' };
/** Put together, so that no scanner takes this file's own text for a key. */
const secret = ['AKIA', 'IOSFODNN7EXAMPLQ'].join('');

let stack: AsyncDisposableStack;
let deployment: Deployment;
let catcher: NoticeCatcher;
beforeEach(async () => {
  stack = new AsyncDisposableStack();
  catcher = stack.use(await NoticeCatcher.open());
  deployment = stack.use(await Deployment.open(['intake']));
}, 60_000);
afterEach(() => stack.disposeAsync());

const webhook = () => ({
  AGENT_KNOWLEDGE_WEBHOOK_URL: catcher.url,
  AGENT_KNOWLEDGE_WEBHOOK_SECRET: catcherSecret,
});
const startTelling = () => deployment.startDaemon({ ...debug, ...webhook() });
const waiting = async () =>
  (await storedNotices(deployment.database)).filter(({ state }) => state !== 'DELIVERED').length;
const untilStored = (isRight: (count: number) => boolean) =>
  eventually(async () => (await storedNotices(deployment.database)).length, isRight, 60_000);

/** The events of the log that were told by no notice that arrived. */
async function findUnheard(after: number): Promise<string[]> {
  const heard = new Set(catcher.notices().map(({ id }) => id));
  const unheard = (await storedNotices(deployment.database)).filter(({ id }) => !heard.has(id));
  return [...(await findUntold(deployment.database, after)), ...unheard.map(({ type }) => type)];
}

test('a receiver that is away, then broken, then well hears of every event, though the daemon is killed on the way', async () => {
  const logs: DaemonProcess[] = [];
  const { port } = catcher;
  await catcher[Symbol.asyncDispose]();

  const head = await headOfLog(deployment.database);
  const first = await startTelling();
  logs.push(first);
  await untilStored((count) => count === 2); // Of its first look: nothing is stale.
  await deployment.save('intake', 'second');
  await untilStored((count) => count === 4);
  await eventually(
    async () => first.command.stderr(),
    (log) => log.includes('refused the connection (ECONNREFUSED)'),
    60_000,
  );

  catcher = stack.use(await NoticeCatcher.open(port));
  catcher.answer = () => 500;
  await deployment.save('intake', `CANARY in a file\n\naws_access_key_id = ${secret}`);
  await untilStored((count) => count >= 6); // Refused, and stale with it.
  await letNoticesBecomeDue(deployment.database);
  await eventually(
    async () => catcher.requests.length,
    (count) => count >= 4,
    60_000,
  );
  first.failpoints.plant('after notice sent', 'kill');
  await letNoticesBecomeDue(deployment.database);
  await first.command.ended;

  catcher.answer = () => 204;
  logs.push(await startTelling());
  await deployment.save('intake', 'third');
  await untilStored((count) => count >= 8);
  await letNoticesBecomeDue(deployment.database);
  await eventually(waiting, (count) => count === 0, 60_000);

  expect(await findUnheard(head)).toEqual([]);
  const types = catcher.notices().map(({ type }) => type.replace('knowledge.', ''));
  expect(new Set(types)).toEqual(new Set(['loaded', 'activated', 'refused', 'stale']));
  const refused = catcher.notices().find(({ type }) => type === 'knowledge.refused');
  expect(refused?.data).toMatchObject({
    agentKey: 'intake',
    environment: 'production',
    reason: 'secret_found',
    faults: [{ code: 'secret_found', relativePath: 'intake/a.md', line: 5 }],
    moreFaults: 0,
    actor: { kind: 'daemon' },
  });
  // Control: with a notice that the receiver did not get the same check finds it.
  const [loaded] = await storedNotices(deployment.database);
  catcher.requests.splice(
    0,
    Infinity,
    ...catcher.requests.filter(({ headers }) => headers['webhook-id'] !== loaded?.id),
  );
  expect(await findUnheard(head)).toEqual([loaded?.type]);

  const said = [
    ...catcher.requests.map(({ text }) => text),
    ...logs.map(({ command }) => command.stderr()),
  ].join('\n');
  for (const word of ['CANARY', secret, catcherSecret, 'hidden-', 'hook-word'])
    expect(said).not.toContain(word);
}, 180_000);

if (long)
  test('a daemon that is killed at every step of a notice, beside another one, loses none', async () => {
    const silent = await deployment.startDaemon(debug);
    await deployment.save('intake', 'unheard');
    await untilSaid(silent.command, /"outcome":"LOADED".*v2|v2.*"outcome":"LOADED"/);
    expect(await deployment.database.asSuperuser(countOutbox)).toBe('0'); // No webhook, nothing stored.
    await silent.command.end();
    const head = await headOfLog(deployment.database);
    const survivor = await startTelling();
    await eventually(
      () => deployment.database.asSuperuser(countOutbox),
      (count) => count === '1',
    );
    for (const [round, point] of noticeFailpoints.entries()) {
      const victim = await startTelling();
      victim.failpoints.plant(point, 'kill');
      // Whoever of the two comes to it: until it was the victim there is something to tell.
      for (let text = 0; victim.failpoints.isPlanted; text += 1) {
        await deployment.save('intake', `round ${round}, text ${text}`);
        await untilHandled(victim);
      }
      await victim.command.ended;
    }
    await letNoticesBecomeDue(deployment.database);
    await eventually(waiting, (count) => count === 0, 60_000);
    expect(await findUnheard(head)).toEqual([]);
    expect(survivor.command.process.exitCode).toBeNull();
  }, 300_000);

/** Resolves when a save has been told, or has been the end of this daemon. */
async function untilHandled(victim: DaemonProcess): Promise<void> {
  const before = (await storedNotices(deployment.database)).length;
  await eventually(
    async () =>
      !victim.failpoints.isPlanted ||
      ((await storedNotices(deployment.database)).length > before && (await waiting()) === 0),
    (isOver) => isOver,
    60_000,
  );
}

async function countOutbox(client: { query(text: string): Promise<{ rows: { count: string }[] }> }) {
  const { rows } = await client.query(
    'select ((select count(*) from agent_knowledge.notice_cursor) + (select count(*) from agent_knowledge.notice) + (select count(*) from agent_knowledge.stale_told)) as count',
  );
  return rows[0]?.count;
}
