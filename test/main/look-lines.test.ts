import { expect, test } from 'vitest';
import { LookLines } from '../../src/main/look-lines.ts';
import { plainLine } from '../../src/main/plain-log.ts';
import type { AttemptResult } from '../../src/store/refreshes.ts';

const nothing = { faults: [], warnings: [], matchingNumber: null, loadedNumber: null };
const loaded: AttemptResult = { ...nothing, outcome: 'LOADED', reason: null, message: 'v2 is active.' };
const unchanged: AttemptResult = {
  ...nothing,
  outcome: 'UNCHANGED',
  reason: 'same_checksum',
  message: 'The source holds what v2 holds; nothing was changed.',
};
const refused = (reason: string): AttemptResult => ({
  ...nothing,
  outcome: 'FAILED',
  reason,
  message: reason,
});

test('a standing refusal is told once, another one again, and its end once', () => {
  const lines = new LookLines();
  const told = (result: AttemptResult) => lines.lineOf('intake', 'production', result);
  expect(told(refused('missing'))).toContain('refused (missing)');
  expect(told(refused('missing'))).toBeNull();
  expect(lines.lineOf('other', 'production', refused('missing'))).toContain('refused (missing)');
  expect(told(refused('empty'))).toContain('refused (empty)');
  expect(told(unchanged)).toMatch(/holds what v2 holds.*mended/);
  expect(told(unchanged)).toBeNull();
});

test('every new version is told, and ends a refusal', () => {
  const lines = new LookLines();
  const told = (result: AttemptResult) => lines.lineOf('intake', 'production', result);
  told(refused('missing'));
  expect([told(loaded), told(loaded)]).toEqual(Array(2).fill('intake (production): v2 is active.'));
  expect(told(unchanged)).toBeNull();
  expect(told(refused('missing'))).toContain('refused');
});

test('a structured line of a log is shown as its message, any other as it is', () => {
  expect(plainLine('{"time":"t","level":"error","message":"the disk is full"}')).toBe('the disk is full');
  for (const line of ['agent-knowledge: Port 1 is in use.', '{"half', '{"code":1}', 'null', '']) {
    expect(plainLine(line)).toBe(line);
  }
});
