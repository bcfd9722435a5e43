import { afterEach, beforeEach, expect, test } from 'vitest';
import type { RootChange } from '../../daemon/root-guard.ts';
import { RootNews } from '../../daemon/root-news.ts';
import { makeLooker } from '../../src/operations/looker.ts';
import { WatchedRoot } from '../support/watched-root.ts';

const isLong = process.env['AGENT_KNOWLEDGE_TEST_LONG'] === '1';

let scene: WatchedRoot;

beforeEach(async () => {
  scene = await WatchedRoot.open({ alpha: ['a.md'] });
});
afterEach(() => scene[Symbol.asyncDispose]());

const trouble = { reason: 'absent', message: 'The root folder is not there.' } as const;
const change = (from: RootChange['from'], to: RootChange['to']): RootChange => ({
  from,
  to,
  trouble: to === 'ok' ? null : trouble,
  lost: true,
  exchanged: false,
  identity: to === 'ok' ? '1:1' : null,
});

const lines: string[] = [];
async function openNews(): Promise<RootNews> {
  const context = scene.database.context();
  const looker = await makeLooker(context, { id: 'news', kind: 'daemon', name: 'news' });
  const nobody = () => undefined;
  lines.length = 0;
  return new RootNews({
    context,
    teller: { looker, root: scene.root, host: 'test' },
    watchEnvironments: ['production'],
    logger: { debug: nobody, info: nobody, warn: nobody, error: nobody },
    onLine: (text) => lines.push(text),
  });
}

const told = async () =>
  (await scene.events('agent.source_lost', 'agent.source_returned')).map((event) => event.action);

if (isLong)
  test('an alarm that the database could not take is told when it can, in order, and to the terminal at once', async () => {
    const news = await openNews();
    await scene.database.asSuperuser(async (client) => {
      await client.query('begin; lock table agent_knowledge.event_head in access exclusive mode');
      news.note(change('suspect', 'missing'));
      expect(lines).toHaveLength(1);
      await expect(news.tell()).rejects.toThrow();
      news.note(change('missing', 'returned'));
      news.note(change('returned', 'ok'));
      await client.query('rollback');
    });
    expect(await told()).toEqual([]);
    await news.tell();
    await news.tell();
    expect(await told()).toEqual(['agent.source_lost', 'agent.source_returned']);
    expect(lines).toHaveLength(2);
  }, 60_000);

test('two daemons on one folder tell its loss and its return once', async () => {
  const all = await Promise.all([openNews(), openNews(), openNews()]);
  const everybody = async (from: RootChange['from'], to: RootChange['to']) => {
    for (const news of all) news.note(change(from, to));
    await Promise.all(all.map((news) => news.tell()));
  };
  await everybody('suspect', 'missing');
  await everybody('missing', 'returned');
  await everybody('returned', 'ok');
  await everybody('suspect', 'missing');
  expect(await told()).toEqual(['agent.source_lost', 'agent.source_returned', 'agent.source_lost']);
}, 60_000);
