import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { activateVersion } from '../../src/operations/activate-version.ts';
import { followEverything } from '../../src/operations/follow-knowledge.ts';
import { KnowledgeFeed } from '../../src/operations/knowledge-feed.ts';
import { EventListener } from '../../src/store/event-listener.ts';
import { Deployment } from '../support/deployment.ts';
import { openStream, type OpenStream } from '../support/event-stream.ts';
import { loadVersion } from '../support/knowledge.ts';
import { PostgresProxy } from '../support/postgres-proxy.ts';
import { eventually } from '../support/processes.ts';

/* R4: the connection that listens goes deaf, dies again and again, or is being made anew, while all others are well. */

/** Within a second is the promise; a loaded machine is given more. */
const limitMs = 5000;
const isListener = (name: string) => name === 'agent-knowledge listener';

test('changes arrive although the connection that listens is deaf, is cut off and is being made anew (F21–F23)', async () => {
  await using deployment = await Deployment.open([]);
  const { database } = deployment;
  await using proxy = await PostgresProxy.open(database.applicationUrl);
  const { base } = await deployment.startApi({ AGENT_KNOWLEDGE_DATABASE_URL: proxy.url });
  await loadVersion(database, { agentKey: 'alpha', files: { 'a.md': 'one' } });
  await loadVersion(database, { agentKey: 'alpha', files: { 'a.md': 'two' } });
  await using stream = await openStream({ url: base, key: 'none', variables: { agentKey: 'alpha' } });
  await eventually(
    async () => proxy.names.some(isListener),
    (listens) => listens,
  );
  let version = 2;
  const lateness = async (turns: number, before: () => unknown = () => undefined) => {
    const times: number[] = [];
    for (let turn = 0; turn < turns; turn += 1) {
      await before();
      version = 3 - version;
      times.push(await timeOf(stream, () => activate(version)));
    }
    return times;
  };
  const activate = (number: number) =>
    activateVersion(database.context(), { agentKey: 'alpha', knowledgeVersion: `v${number}` });

  const heard = await lateness(5);
  proxy.deafen(isListener);
  const deaf = await lateness(8, () => sleep(100 + Math.random() * 500)); // Longer than it takes to find out, and new ones are deaf too.
  proxy.heal();
  const cut = await lateness(3, () => proxy.cut(isListener)); // Nothing else happens, so nothing else can wake it.
  await eventually(
    async () => proxy.names.some(isListener),
    (listens) => listens,
  );
  const healed = await lateness(3);
  const all = { heard, deaf, cut, healed };
  const words = Object.entries(all).map(
    ([name, times]) => `${name} ${times.map((ms) => ms.toFixed(0)).join(' ')}`,
  );
  process.stdout.write(`R4, ms until a change has come: ${words.join('; ')}\n`);
  expect(Math.max(...Object.values(all).flat())).toBeLessThan(limitMs);

  // Control: the same deaf listener without the look by the clock tells nothing at all.
  proxy.deafen(isListener);
  const context = database.context();
  const openListener = (hint: () => void) => EventListener.open(proxy.url, hint);
  await using blind = new KnowledgeFeed(context, openListener, { pollMs: 3_600_000 });
  const changes = await followEverything({ ...context, feed: blind });
  const first = changes.next();
  expect(await timeOf(stream, () => activate(3 - version))).toBeLessThan(limitMs);
  expect(await Promise.race([first, sleep(2000, 'silence')])).toBe('silence');
  proxy.heal(); // With an ear again, what was missed is caught up with.
  expect((await first).value).toMatchObject({ kind: 'ACTIVATED' });
}, 90_000);

/** Milliseconds from the moment a change is acknowledged until the stream has told it. */
async function timeOf(stream: OpenStream, change: () => Promise<unknown>): Promise<number> {
  const came = stream.take(1).then(() => performance.now());
  await change();
  const done = performance.now();
  return Math.max(0, (await came) - done);
}
