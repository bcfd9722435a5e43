import { closeSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { EventStorm } from '../../../daemon/hints/event-storm.ts';
import { watchForLateness } from '../../../daemon/hints/late-timer.ts';
import { openWatcher } from '../../../daemon/hints/open-watcher.ts';
import { Sweep, sweepPauseMs } from '../../../daemon/hints/sweep.ts';
import { statPrint } from '../../../src/source/registry-file.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { patiently, untilReady, watcherScene } from '../../support/watcher-scene.ts';

test.each([
  ['native', 1000, 10, 1000],
  ['native', 1000, 900, 1000],
  ['degraded', 1000, 10, 250],
  ['degraded', 50, 10, 50],
  ['degraded', 1000, 201, 5000],
  ['sweep', 1000, 10, 1000],
  ['sweep', 1000, 201, 5000],
  ['sweep', 60_000, 201, 60_000],
] as const)(
  'a sweep (%s, set to %i ms, the last one took %i ms) comes after %i ms',
  (state, set, took, wanted) => {
    expect(sweepPauseMs(state, set, took)).toBe(wanted);
  },
);

test('the sweep is quicker from the moment at which the watcher fails', async () => {
  const clock = new FakeClock();
  const sweeps: number[] = [];
  await using scene = await watcherScene({
    clock,
    timeOfDay: () => clock.now(),
    sweepMs: 600_000,
    statPrint: async (path) => {
      if (path.endsWith('a.md')) sweeps.push(clock.now());
      return statPrint(path);
    },
    openWatcher: (folders) => {
      const watcher = openWatcher(folders);
      setImmediate(() => watcher.emit('error', new Error('broken')));
      return watcher;
    },
  });
  await patiently(() => scene.hints.condition.watcher === 'degraded');
  // Set to ten minutes, it would come once in all this time; the machine's own time passes in between.
  while (sweeps.length < 8) {
    expect(clock.now()).toBeLessThan(500_000);
    await clock.advance(50);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
});

test('a file system that hangs takes one call at a time, and does not keep the hints from ending (W27)', async () => {
  let calls = 0;
  await using scene = await watcherScene({
    sweepMs: 20,
    statPrint: () => {
      calls += 1;
      return new Promise(() => undefined);
    },
  });
  await patiently(() => calls > 0);
  scene.hints.rebuild('to have it ask for more');
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(calls).toBe(1);
  // The watcher's own questions wait in the same line as the sweep's.
  expect(scene.watchers.length).toBeLessThanOrEqual(1);
  await scene.end();
  // Control: one that answers is asked again and again.
  let answered = 0;
  await using other = await watcherScene({ sweepMs: 20, statPrint: async () => String((answered += 1)) });
  await patiently(() => answered > 20);
  await other.end();
});

describe('a burst of events', () => {
  test('that overruns the kernel’s queue while the process is blocked is made up for by one look at everything (W09)', async () => {
    await using scene = await watcherScene({ listed: ['shared/a.md'] });
    await untilReady(scene);
    scene.files.length = 0;
    // Two files in turns, or the kernel would make one event of them; more than its queue holds (16,384).
    const noise = [openSync(scene.file('noise-1'), 'w'), openSync(scene.file('noise-2'), 'w')] as const;
    for (let index = 0; index < 10_000; index += 1) for (const file of noise) writeSync(file, 'x');
    writeFileSync(scene.file('a.md'), 'lost');
    for (const file of noise) closeSync(file);
    await patiently(() => scene.everything.includes('more than 1,000 events came within a second'));
    expect(scene.hints.condition.watcher).toBe('native');
    // Control: the event was lost indeed, so nothing else would have told.
    expect(scene.files.map(({ file }) => file)).not.toContain('shared/a.md');
    await patiently(() => {
      writeFileSync(scene.file('a.md'), 'heard');
      return scene.files.some(({ file }) => file === 'shared/a.md');
    });
  });

  test('is noticed at the thousand-and-first event of a second, and answered once when that second is over', async () => {
    const clock = new FakeClock();
    const over: number[] = [];
    const storm = new EventStorm(clock, () => over.push(clock.now()));
    const { signal } = new AbortController();
    const count = (times: number) => {
      for (let time = 0; time < times; time += 1) storm.count(signal);
    };
    count(1000);
    expect(storm.raging).toBe(false);
    await clock.advance(999);
    count(1);
    expect(storm.raging).toBe(true);
    count(5000);
    await clock.advance(1000);
    expect({ over, raging: storm.raging }).toEqual({ over: [1999], raging: false });
    // Control: the same number, spread out, is no storm.
    for (let second = 0; second < 5; second += 1) {
      count(1000);
      await clock.advance(1000);
    }
    expect(over).toHaveLength(1);
  });
});

describe('a timer that is late by more than five seconds', () => {
  /** Lets a minute pass, with a jump of one of the two clocks in the middle. */
  async function lateness(jump: { monotonic?: number; ofDay?: number }): Promise<number[]> {
    const clock = new FakeClock();
    const late: number[] = [];
    const stop = new AbortController();
    const ahead = { monotonic: 0, ofDay: 0 };
    const watching = watchForLateness({
      clock: { now: () => clock.now() + ahead.monotonic, sleep: (ms) => clock.sleep(ms) },
      timeOfDay: () => 1_700_000_000_000 + clock.now() + ahead.ofDay,
      signal: stop.signal,
      onLate: (ms) => late.push(ms),
    });
    await clock.advance(10_500);
    Object.assign(ahead, jump);
    await clock.advance(10_500);
    stop.abort();
    await watching;
    return late;
  }

  test.each([
    ['is told when the process was kept from running', { monotonic: 7000 }, [7000]],
    ['is told after a sleep, in which a monotonic clock may stand still', { ofDay: 3_600_000 }, [3_600_000]],
    ['is not told of the one second that a busy machine takes', { monotonic: 1000, ofDay: 1000 }, []],
    ['is not told when the time of day is set back', { ofDay: -86_400_000 }, []],
  ])('%s', async (_, jump, wanted) => {
    expect(await lateness(jump)).toEqual(wanted);
  });

  test('has everything looked at', async () => {
    const clock = new FakeClock();
    let slept = 0;
    await using scene = await watcherScene({ clock, timeOfDay: () => clock.now() + slept });
    await untilReady(scene);
    scene.everything.length = 0;
    slept = 60_000;
    await clock.advance(1500);
    expect(scene.everything).toEqual(['a timer was late by 60000 ms']);
  });
});

test('the sweep tells of changes, not of what it sees for the first time, and says that it has begun to look', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'ak-sweep-'));
  try {
    const [a, b] = [join(folder, 'a'), join(folder, 'b')];
    await mkdir(folder, { recursive: true });
    await writeFile(a, '1');
    const sweep = new Sweep(statPrint);
    let time = 0;
    const now = () => (time += 1);
    expect(await sweep.run([a], now)).toEqual({ changed: [], first: true });
    expect(await sweep.run([a], now)).toEqual({ changed: [], first: false });
    await writeFile(a, '22');
    expect(await sweep.run([a, b], now)).toEqual({ changed: [{ path: a, since: 2 }], first: true });
    await writeFile(b, '3');
    expect(await sweep.run([a, b], now)).toEqual({ changed: [{ path: b, since: 4 }], first: false });
  } finally {
    await rm(folder, { recursive: true });
  }
});
