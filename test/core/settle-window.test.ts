import { expect, test } from 'vitest';
import { aftershockFiles, quietWindow, settleTimes, type SettleHint } from '../../src/core/settle-window.ts';

const { fast } = settleTimes;
const hint = (at: number, file: string | null = 'a.md', burst = false): SettleHint => ({ at, file, burst });

test.each<[string, readonly SettleHint[], ReturnType<typeof quietWindow>]>([
  ['nothing but the pass', [], { until: 160, burst: false }],
  ['one file', [hint(120)], { until: 180, burst: false }],
  ['one file twice', [hint(120), hint(150)], { until: 210, burst: false }],
  ['two files', [hint(120), hint(150, 'b.md')], { until: 550, burst: true }],
  ['two files 2 s apart', [hint(120), hint(2120, 'b.md')], { until: 2520, burst: true }],
  ['two files further apart', [hint(120), hint(2121, 'b.md')], { until: 2181, burst: false }],
  ['a folder, a deletion or a temporary file', [hint(120, null, true)], { until: 520, burst: true }],
  ['changes without end', [hint(120), hint(5090)], { until: 5100, burst: false }],
])('waits for quiet after %s', (_, hints, window) => {
  expect(quietWindow(hints, 100, fast)).toEqual(window);
});

test('waits the long time for another file within 2 s of a fast capture, but not from its hint on', () => {
  const before = { at: 1000, file: 'a.md' };
  expect(quietWindow([hint(2900, 'b.md')], 2900, fast, before)).toEqual({ until: 3300, burst: true });
  expect(quietWindow([hint(3001, 'b.md')], 3001, fast, before)).toEqual({ until: 3061, burst: false });
  expect(quietWindow([hint(2900, 'a.md')], 2900, fast, before)).toEqual({ until: 2960, burst: false });
  expect(aftershockFiles([hint(2900, 'b.md'), hint(2950, 'a.md'), hint(2950, null)], before)).toEqual([
    'b.md',
  ]);
  expect(aftershockFiles([hint(2900, 'b.md')], null)).toEqual([]);
});

test('a folder that others keep writing into moves the window on by one burst at most (R15)', () => {
  for (const times of Object.values(settleTimes)) {
    const beside = Array.from({ length: 100 }, (_, at): SettleHint => {
      return { at: 100 + at * 50, file: null, burst: true, aside: true };
    });
    expect(quietWindow(beside, 100, times).until).toBe(100 + 2 * times.burstMs);
    // The control: names like its own keep it waiting until the cap, as a save that takes long must.
    const own = beside.map((hint) => ({ ...hint, aside: false }));
    expect(quietWindow(own, 100, times).until).toBe(Math.min(5050 + times.burstMs, 100 + times.capMs));
  }
});
