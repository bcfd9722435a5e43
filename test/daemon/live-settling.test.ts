/** Live tests 4, 9 and 11 of the watching notes, and what a save in progress looks like from outside. */
import { execFile } from 'node:child_process';
import { mkdtemp, realpath, rm, stat, unlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../daemon/clock.ts';
import { LocalHints } from '../../daemon/hints/local-hints.ts';
import { watchFolder } from '../../daemon/watch-folder.ts';
import { settleTimes } from '../../src/core/settle-window.ts';
import { requestRefresh } from '../../src/operations/request-refresh.ts';
import { openLocalSource } from '../../src/source/local-source.ts';
import { statPrint } from '../../src/source/registry-file.ts';
import { eventually } from '../support/processes.ts';
import { WatchedRoot } from '../support/watched-root.ts';

const isLong = process.env['AGENT_KNOWLEDGE_TEST_LONG'] === '1';
const hour = 3600;

let stack: AsyncDisposableStack;

beforeEach(() => {
  stack = new AsyncDisposableStack();
});
afterEach(() => stack.disposeAsync());

const open = async (agents: Readonly<Record<string, readonly string[]>>) =>
  stack.use(await WatchedRoot.open(agents));
const reaches = (scene: WatchedRoot, number: number, agent = 'alpha') =>
  eventually(
    () => scene.package(agent),
    (row) => row.activeNumber === number,
  );

test('a clock a day back, times put back and edits of the same size: hashes decide (live test 11, F37)', async () => {
  const scene = await open({ alpha: ['a.md'] });
  let dayMs = 0;
  const clock = () => new Date(Date.now() - dayMs);
  // Neither events nor the sweep see anything: the full hash alone is left.
  const watched = watchFolder({
    root: scene.root,
    sweepMs: hour * 1000,
    watchMode: 'sweep',
    statPrint: async () => 'same',
  });
  const context = { ...scene.database.context(), clock };
  await scene.startDaemon({ watched, context });
  const file = join(scene.root, 'a.md');
  const texts = ['# one\n', '# two\n'] as const;
  const edit = async (text: string) => {
    const { atime, mtime } = await stat(file);
    await writeFile(file, text);
    await utimes(file, atime, mtime);
  };
  await edit(texts[0]);
  await reaches(scene, 2);
  dayMs = 86_400_000;
  await edit(texts[1]);
  await reaches(scene, 3);
  dayMs = -86_400_000;
  await edit(texts[0]);
  await reaches(scene, 4);
  // Other times and the same bytes are no change.
  await utimes(file, new Date(0), new Date(0));
  await writeFile(join(scene.root, 'a.md'), texts[0]);
  const asked = await requestRefresh(scene.database.context(), { agentKey: 'alpha' });
  expect(asked).toMatchObject({ outcome: 'UNCHANGED', matchingNumber: 4 });
}, 60_000);

test('a named pipe and a reader that never returns keep no other agent waiting (live test 9)', async () => {
  const scene = await open({ alpha: ['alpha/a.md', 'alpha/b.md'], beta: ['beta.md'] });
  const source = stack.use(openLocalSource({ root: scene.root }));
  const watched = watchFolder({ root: scene.root, sweepMs: hour * 1000, watchMode: 'sweep', statPrint });
  await scene.startDaemon({ source, watched, resyncSeconds: hour });
  await unlink(join(scene.root, 'alpha/a.md'));
  await promisify(execFile)('mkfifo', [join(scene.root, 'alpha/a.md')]);
  const ask = (agentKey: string) => requestRefresh(scene.database.context(), { agentKey });
  expect(await ask('alpha')).toMatchObject({ outcome: 'FAILED', reason: 'not_regular_file' });
  // Whichever of the two takes the first look never returns.
  await eventually(
    async () => source.readers,
    (readers) => readers.every(({ state }) => state === 'idle'),
  );
  const stopped = source.readers[0]?.processId ?? 0;
  process.kill(stopped, 'SIGSTOP');
  await scene.save('beta.md', '# Beta, saved\n');
  const order: string[] = [];
  const stuck = ask('alpha').then(() => order.push('alpha'));
  await eventually(
    async () => source.readers,
    (readers) => readers.some(({ processId, state }) => processId === stopped && state === 'busy'),
  );
  expect(await ask('beta')).toMatchObject({ outcome: 'LOADED', loadedNumber: 2 });
  order.push('beta');
  await stuck;
  expect(order).toEqual(['beta', 'alpha']);
  expect(source.readers.map(({ processId }) => processId)).not.toContain(stopped);
}, 60_000);

describe('a file that was emptied', () => {
  test('for a moment fails nobody', async () => {
    const scene = await open({ alpha: ['a.md'] });
    await scene.startDaemon();
    await scene.save('a.md', '');
    await eventually(
      async () => scene.log,
      (log) => log.includes('a file looks half written and is read again'),
    );
    await scene.save('a.md', '# whole\n');
    await reaches(scene, 2);
    expect(await scene.events('agent.knowledge_failed')).toEqual([]);
  }, 60_000);

  if (isLong)
    test('for good fails after some four seconds, once', async () => {
      const scene = await open({ alpha: ['a.md'] });
      await scene.startDaemon();
      const saved = performance.now();
      await scene.save('a.md', '');
      await eventually(
        () => scene.events('agent.knowledge_failed'),
        (events) => events.length > 0,
      );
      expect(performance.now() - saved).toBeGreaterThan(4000);
      await systemClock.sleep(6000); // Several resyncs meet it again.
      expect(await scene.events('agent.knowledge_failed')).toHaveLength(1);
    }, 60_000);
});

if (isLong)
  test('a second file right after a fast version marks that version as possibly torn', async () => {
    const scene = await open({ alpha: ['a.md', 'b.md'] });
    await scene.startDaemon();
    let number = 1;
    // A busy machine may see the second save too late to connect the two.
    for (let attempt = 0; attempt < 10; attempt += 1) {
      await scene.save('a.md', `# a ${attempt}\n`);
      await reaches(scene, (number += 1));
      await scene.save('b.md', `# b ${attempt}\n`);
      await reaches(scene, (number += 1));
      const [last] = (await scene.events('agent.knowledge_loaded')).toReversed();
      if (last?.details['possiblyTorn'] === `v${number - 1}`) return;
      await systemClock.sleep(2500);
    }
    expect.fail('No version was ever marked.');
  }, 120_000);

describe('signs of a save in progress', () => {
  const signs = [
    '~$rules.md',
    '.~lock.rules.md#',
    'rules.md.tmp',
    '~RF1a2b3c.TMP',
    'rules.md.partial',
    '4913',
    '.rules.md.swp',
    'RULES.md',
    'rules-OTHER-PC.md',
    'rules (1).md',
    're\u0301gles.md',
  ];

  test('each widens the wait to a burst and is never taken for the file itself', async () => {
    const folder = await realpath(await mkdtemp(join(tmpdir(), 'ak-signs-')));
    stack.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 10 }));
    await writeFile(join(folder, 'rules.md'), '# Rules\n');
    const hints: { file: string | null; burst: boolean }[] = [];
    let everything = 0;
    const nobody = () => undefined;
    const local = new LocalHints({
      root: folder,
      registryPath: join(folder, '../no-registry.json'),
      sweepMs: 200,
      watchMode: 'auto',
      statPrint,
      clock: systemClock,
      timeOfDay: () => Date.now(),
      logger: { debug: nobody, info: nobody, warn: nobody, error: nobody },
      onFiles: ({ file, burst }) => hints.push({ file, burst }),
      onRegistry: async () => undefined,
      onEverything: () => (everything += 1),
      onCondition: nobody,
    });
    local.watch(['rules.md', 'r\u00e9gles.md']);
    const stop = new AbortController();
    const running = local.run(stop.signal);
    stack.defer(async () => {
      stop.abort();
      await running;
    });
    await eventually(
      async () => everything,
      (count) => count >= 2, // The watcher is ready and the sweep has seen everything once.
    );
    for (const sign of signs) {
      hints.length = 0;
      await writeFile(join(folder, sign), 'x');
      await eventually(
        async () => hints,
        (seen) => seen.some((hint) => hint.burst),
      );
      expect([sign, hints.filter((hint) => hint.file !== null)]).toEqual([sign, []]);
    }
    // Control: an ordinary save of the listed file is no such sign.
    await systemClock.sleep(1000);
    hints.length = 0;
    await writeFile(join(folder, 'rules.md'), '# Rules, saved\n');
    await eventually(
      async () => hints,
      (seen) => seen.length > 0,
    );
    expect(hints[0]).toEqual({ file: 'rules.md', burst: false });
  }, 60_000);

  test('nothing of it is ever loaded', async () => {
    const scene = await open({ alpha: ['rules.md'] });
    await scene.startDaemon();
    for (const sign of signs) await scene.save(sign, 'not a word of this');
    await scene.save('rules.md', '# Rules, saved\n');
    await reaches(scene, 2);
    const stored = await scene.database.asSuperuser((client) =>
      client.query(`select from agent_knowledge.blob where content = 'not a word of this'::bytea`),
    );
    expect(stored.rowCount).toBe(0);
    // And where the listed name is gone, what looks like it does not stand in for it.
    await unlink(join(scene.root, 'rules.md'));
    const failed = await eventually(
      () => scene.events('agent.knowledge_failed'),
      (events) => events.length > 0,
    );
    expect(failed[0]?.details['reason']).toBe('missing_required');
  }, 60_000);
});

if (isLong)
  test('seven files saved up to 1.9 s apart are one version where the environment settles (live test 4)', async () => {
    const names = Array.from({ length: 7 }, (_, index) => `file-${index}.md`);
    for (const gapMs of [5, 80, 200, 900]) {
      const scene = await open({ alpha: names });
      const daemon = await scene.startDaemon({ settleTimes: () => settleTimes.settled });
      let widest = 0;
      let last = performance.now();
      for (const name of names) {
        await scene.save(name, `# ${name} after ${gapMs}\n`);
        widest = Math.max(widest, performance.now() - last);
        last = performance.now();
        await systemClock.sleep(gapMs);
      }
      await eventually(
        async () => (await scene.package('alpha')).nextNumber,
        (next) => next > 2,
      );
      await systemClock.sleep(3000);
      // A machine that was too busy to save in time proves nothing.
      if (widest < 1900) expect([gapMs, (await scene.package('alpha')).nextNumber]).toEqual([gapMs, 3]);
      await daemon[Symbol.asyncDispose]();
    }
  }, 240_000);
