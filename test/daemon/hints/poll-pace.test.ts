import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { pollPauseMs } from '../../../daemon/hints/poll-pace.ts';

it('waits the usual time while all is well, an hour for a drive without changes, and longer with each failure up to five minutes', () => {
  const pause = (fate: Parameters<typeof pollPauseMs>[0], failures: number) =>
    pollPauseMs(fate, { pollMs: 30_000, failures, random: 0 });
  expect(pause('well', 0)).toBe(30_000);
  expect(pause('off', 0)).toBe(30_000);
  expect(pause('unsupported', 0)).toBe(3_600_000);
  expect([1, 2, 3, 4, 5, 50].map((failures) => pause('failed', failures))).toEqual([
    30_000, 60_000, 120_000, 240_000, 300_000, 300_000,
  ]);
});

it('never asks sooner than told, whatever the jitter, and keeps a wait that is wanted longer than five minutes', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 3600 }),
      fc.nat(1000),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (seconds, failures, random) => {
        const pollMs = seconds * 1000;
        const waitMs = pollPauseMs('failed', { pollMs, failures: failures + 1, random });
        expect(waitMs).toBeGreaterThanOrEqual(pollMs);
        expect(waitMs).toBeLessThanOrEqual(1.25 * Math.max(pollMs, 300_000));
      },
    ),
  );
});
