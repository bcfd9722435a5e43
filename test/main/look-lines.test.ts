import { expect, test } from 'vitest';
import { describeLook } from '../../src/main/describe-look.ts';
import { LookLines } from '../../src/main/look-lines.ts';
import { plainLine, toneOf } from '../../src/main/plain-log.ts';
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
  expect(told(refused('missing'))).toMatchObject({ tone: 'bad', text: expect.stringContaining('(missing)') });
  expect(told(refused('missing'))).toBeNull();
  expect(lines.lineOf('other', 'production', refused('missing'))?.text).toContain('refused (missing)');
  expect(told(refused('empty'))?.text).toContain('refused (empty)');
  expect(told(unchanged)).toMatchObject({
    tone: 'good',
    text: 'intake (production): what was refused is mended. The source holds what v2 holds; nothing was changed.',
  });
  expect(told(unchanged)).toBeNull();
});

test('a new version ends a refusal and is left to the audit log, so that nothing is told twice', () => {
  const lines = new LookLines();
  const told = (result: AttemptResult) => lines.lineOf('intake', 'production', result);
  told(refused('missing'));
  expect([told(loaded), told(loaded), told(unchanged)]).toEqual([null, null, null]);
  expect(told(refused('missing'))?.text).toContain('refused');
});

test('a refusal names each place as path:line once, and no note about a place that is refused anyway', () => {
  const at = (line: number) => ({ relativePath: 'Triage/rules.md', line });
  const result: AttemptResult = {
    ...refused('script_markup'),
    faults: [{ code: 'script_markup', ...at(7), message: 'Line 7: "<script" is refused.' }],
    warnings: [
      { code: 'confusable_markup', ...at(7), message: 'Line 7: something close.' },
      { code: 'data_uri', ...at(9), message: 'Line 9: a data URI.' },
    ],
  };
  expect(describeLook('intake', 'production', result).split('\n')).toEqual([
    'intake (production): refused (script_markup); what was active stays active.',
    'Triage/rules.md:7  "<script" is refused.',
    'note: Triage/rules.md:9  a data URI.',
  ]);
});

test('a structured line of a log is shown as its message, trouble in its colour, any other as it is', () => {
  const line = '{"time":"t","level":"error","message":"the disk is full"}';
  const unexpected = {
    level: 'error',
    message: 'It failed.',
    requestId: 'r-1',
    error: 'TypeError: x\n    at y',
  };
  expect(plainLine(JSON.stringify(unexpected))).toBe('It failed.\nTypeError: x\nrequest r-1');
  expect([plainLine(line), toneOf(line)]).toEqual(['the disk is full', 'bad']);
  for (const other of ['agent-knowledge: Port 1 is in use.', '{"half', '{"code":1}', 'null', '']) {
    expect([plainLine(other), toneOf(other)]).toEqual([other, undefined]);
  }
});
