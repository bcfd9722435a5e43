import { once } from 'node:events';
import { appendFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FSWatcher } from 'chokidar';
import { describe, expect, test } from 'vitest';
import { openWatcher } from '../../../daemon/hints/open-watcher.ts';
import { RebuildDelay } from '../../../daemon/hints/rebuild-delay.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import {
  patiently,
  statesTold,
  untilReady,
  watcherScene,
  type WatcherScene,
} from '../../support/watcher-scene.ts';

const fails = 'warn: the watcher fails; changes are found by the sweep';
const works = 'info: the watcher works again';

const failure = (code: string) =>
  Object.assign(new Error(`${code}: something, watch '/somewhere'`), { code });

/** Moves a fake clock on, in small steps, until it is so; real file work goes on in between. */
async function advanceUntil(clock: FakeClock, isSo: () => boolean, stepMs = 10): Promise<void> {
  for (let step = 0; !isSo(); step += 1) {
    if (step > 2000) throw new Error(`Not so in ${step} steps: ${isSo.toString()}`);
    await clock.advance(stepMs);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

/** A scene on a fake clock, its first watcher ready. */
async function sceneAtRest(change: Parameters<typeof watcherScene>[0] = {}) {
  const clock = new FakeClock();
  const scene = await watcherScene({ clock, timeOfDay: () => clock.now(), ...change });
  await untilReady(scene);
  scene.everything.length = 0;
  return { clock, scene };
}

describe('an error of the watcher', () => {
  test.each([
    ['ENOSPC', 'fs.inotify.max_user_watches'],
    ['EMFILE', 'fs.inotify.max_user_instances'],
    ['EPERM', "EPERM: something, watch '/somewhere'"],
  ])(
    '%s makes it degraded with a reason, is told once, and a new watcher is built at once',
    async (code, said) => {
      await using scene = await watcherScene();
      await untilReady(scene);
      const [first] = scene.watchers;
      for (let times = 0; times < 50; times += 1) first?.emit('error', failure(code));
      expect(scene.hints.condition.watcher).toBe('degraded');
      expect(scene.hints.condition.watcherMessage).toContain(said);
      await untilReady(scene, 2);
      expect(scene.hints.condition).toMatchObject({ watcher: 'native', watcherMessage: null });
      expect(statesTold(scene.log)).toEqual([fails, works]);
      expect(scene.watchers).toHaveLength(2);
      scene.files.length = 0;
      await appendFile(scene.file('a.md'), 'heard again\n');
      await patiently(() => scene.files.some(({ file }) => file === 'shared/a.md'));
    },
  );

  test('has everything looked at, when it comes and when the next watcher is ready', async () => {
    await using scene = await watcherScene();
    await untilReady(scene);
    scene.everything.length = 0;
    scene.watchers[0]?.emit('error', failure('EPERM'));
    expect(scene.everything).toEqual([expect.stringContaining('EPERM')]);
    await untilReady(scene);
  });

  test('that comes while it is closed or after it is heard too, and ends nothing (W23)', async () => {
    await using scene = await watcherScene();
    await untilReady(scene);
    const [first] = scene.watchers;
    scene.hints.rebuild('to have it closed');
    await patiently(() => first?.closed === true);
    expect(first?.listenerCount('error')).toBe(1);
    first?.emit('error', failure('EBADF'));
    await untilReady(scene, 2);
    expect(scene.hints.condition.watcher).toBe('native');
    await scene.end();
    for (const watcher of scene.watchers) watcher.emit('error', failure('EBADF'));
    // Control: a watcher that was closed without care throws what would end the process.
    const careless = openWatcher([scene.root]);
    await careless.close();
    expect(() => careless.emit('error', failure('EBADF'))).toThrow('EBADF');
  });

  test('that comes while it is built makes it degraded, though it says afterwards that it is ready (W12)', async () => {
    let broken = true;
    const { clock, scene } = await sceneAtRest({
      openWatcher: (folders) => {
        const watcher = openWatcher(folders);
        if (broken) setImmediate(() => watcher.emit('error', failure('ENOSPC')));
        return watcher;
      },
    });
    await using _ = scene;
    expect(scene.hints.condition.watcher).toBe('degraded');
    broken = false;
    await advanceUntil(clock, () => scene.hints.condition.watcher === 'native', 1000);
    expect(statesTold(scene.log)).toEqual([fails, works]);
  });

  test('that is thrown by its making is one like any other', async () => {
    let broken = true;
    await using scene = await watcherScene({
      openWatcher: (folders) => {
        if (broken) {
          broken = false;
          throw failure('EMFILE');
        }
        return openWatcher(folders);
      },
    });
    await untilReady(scene);
    expect(scene.conditions).toEqual(['degraded', 'native']);
  });
});

describe('building anew', () => {
  test('is tried at once, then after 5 s, doubling up to 60 s, and afresh after ten minutes without a failure', () => {
    const delay = new RebuildDelay();
    const waits = Array.from({ length: 7 }, (_, index) => delay.fail(index * 60_000));
    expect(waits).toEqual([0, 5000, 10_000, 20_000, 40_000, 60_000, 60_000]);
    expect(delay.fail(6 * 60_000 + 600_001)).toBe(0);
  });

  test('goes on for as long as it fails, with the waits between, and is told once in the log', async () => {
    const built: number[] = [];
    const clock = new FakeClock();
    await using scene = await watcherScene({
      clock,
      timeOfDay: () => clock.now(),
      openWatcher: (folders) => {
        built.push(clock.now());
        const watcher = openWatcher(folders);
        setImmediate(() => watcher.emit('error', failure('ENOSPC')));
        return watcher;
      },
    });
    await advanceUntil(clock, () => built.length >= 6, 250);
    const gaps = built.slice(1).map((at, index) => at - (built[index] ?? 0));
    for (const [index, wait] of [0, 5000, 10_000, 20_000, 40_000].entries()) {
      expect(gaps[index]).toBeGreaterThanOrEqual(wait);
    }
    expect(statesTold(scene.log)).toEqual([fails]);
  });

  test('leaves nothing behind: watchers are closed, and no listener stays on them', async () => {
    await using scene = await watcherScene();
    await untilReady(scene);
    for (let times = 1; times <= 20; times += 1) {
      scene.hints.rebuild('again');
      await untilReady(scene, times + 1);
    }
    const old = scene.watchers.slice(0, -1);
    expect(old).toHaveLength(20);
    expect(old.every((watcher) => watcher.closed)).toBe(true);
    expect(old.flatMap((watcher) => watcher.eventNames())).toEqual(old.map(() => 'error'));
    await scene.end();
    expect(scene.watchers.at(-1)?.closed).toBe(true);
  });

  test('begins when a watcher has not been ready for half a minute', async () => {
    const clock = new FakeClock();
    let hanging = true;
    await using scene = await watcherScene({
      clock,
      timeOfDay: () => clock.now(),
      openWatcher: (folders) => {
        const watcher = openWatcher(hanging ? [] : folders);
        if (hanging) watcher.readyEmitted = true; // A watcher that never says so.
        hanging = false;
        return watcher;
      },
    });
    await advanceUntil(clock, () => scene.watchers.length === 1);
    await advanceUntil(clock, () => scene.watchers.length === 2, 1000);
    expect(clock.now()).toBeGreaterThanOrEqual(30_000);
    await patiently(() => scene.hints.condition.watcher === 'native');
    expect(scene.conditions).toEqual(['degraded', 'native']);
  });
});

describe('a watcher that has gone deaf', () => {
  const seesAll = 'the sweep sees a file for the first time';

  /** Saves a file and lets time go on until some net brings the change, and until an event would be too late. */
  async function save(
    scene: WatcherScene,
    clock: FakeClock,
    text: string,
    event?: Promise<unknown>,
  ): Promise<void> {
    scene.files.length = 0;
    // In one step, or a sweep between two of them would count as many changes.
    await writeFile(join(scene.folder, 'next'), text);
    await rename(join(scene.folder, 'next'), scene.file('a.md'));
    await event;
    await advanceUntil(clock, () => scene.files.some(({ file }) => file === 'shared/a.md'));
    const end = clock.now() + 3000;
    await advanceUntil(clock, () => clock.now() >= end, 100);
  }

  test('is found out by three changes that no event announced, and built anew (W09)', async () => {
    const { clock, scene } = await sceneAtRest({ sweepMs: 200 });
    await using _ = scene;
    await advanceUntil(clock, () => scene.everything.includes(seesAll), 100);
    const [watcher] = scene.watchers as [FSWatcher];
    for (const text of ['heard 1', 'heard 2', 'heard 3', 'heard 4']) {
      await save(scene, clock, text, once(watcher, 'raw'));
    }
    expect(scene.conditions).toEqual([]);
    await watcher.close();
    for (const text of ['one', 'two']) await save(scene, clock, text);
    expect(scene.conditions).toEqual([]);
    await save(scene, clock, 'three');
    await advanceUntil(clock, () => scene.conditions.length >= 2, 100);
    expect(scene.conditions).toEqual(['degraded', 'native']);
    expect(scene.log.find(({ level }) => level === 'warn')?.fields).toEqual({
      reason: 'The watcher is deaf: 3 changes within 10 minutes came without an event.',
    });
    expect(statesTold(scene.log)).toEqual([fails, works]);
  });

  test('is believed only after an event when building it anew did not help, so that it is not told in turns', async () => {
    let deaf = true;
    const { clock, scene } = await sceneAtRest({
      sweepMs: 200,
      openWatcher: (folders) => {
        const watcher = openWatcher(folders);
        if (deaf) watcher.once('ready', () => void watcher.close());
        return watcher;
      },
    });
    await using _ = scene;
    await advanceUntil(clock, () => scene.everything.includes(seesAll), 100);
    for (let times = 0; scene.conditions.length < 3; times += 1) {
      expect(times).toBeLessThan(20);
      await save(scene, clock, `unheard ${times}`);
    }
    expect(scene.conditions).toEqual(['degraded', 'native', 'degraded']);
    deaf = false;
    const before = scene.watchers.length;
    await advanceUntil(clock, () => scene.watchers.length > before, 1000);
    await advanceUntil(clock, () => scene.everything.at(-1) === 'the watcher is ready', 10);
    expect(scene.hints.condition.watcher).toBe('degraded');
    for (let times = 0; scene.hints.condition.watcher !== 'native'; times += 1) {
      expect(times).toBeLessThan(20);
      await save(scene, clock, `heard ${times}`);
    }
    expect(statesTold(scene.log)).toEqual([fails, works, fails, works]);
  });

  test('stays unnoticed without the sweep (control)', async () => {
    const { clock, scene } = await sceneAtRest();
    await using _ = scene;
    await scene.watchers[0]?.close();
    for (const text of ['one', 'two', 'three', 'four']) await writeFile(scene.file('a.md'), text);
    await clock.advance(60_000);
    expect(scene.files).toEqual([]);
    expect(scene.conditions).toEqual([]);
  });
});
