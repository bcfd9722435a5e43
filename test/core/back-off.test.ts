import { expect, test } from 'vitest';
import { backOffMs } from '../../src/core/back-off.ts';

test('the pause before a new start is half a second at first, doubles, and stays at 30 s', () => {
  const pauses = [0, 1, 2, 3, 4, 5, 6, 7, 100].map(backOffMs);
  expect(pauses).toEqual([500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
});
