import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { formatAge } from '../../src/cli/output/age.ts';
import { paintColoured, paintPlain, takesColour } from '../../src/cli/output/colour.ts';
import { findingLines } from '../../src/cli/output/findings.ts';
import { shorten } from '../../src/cli/output/fit.ts';
import { displayWidth } from '../../src/cli/output/printable.ts';
import { layTable, type Column } from '../../src/cli/output/table.ts';

interface Row {
  readonly key: string;
  readonly version: string;
  readonly note: string;
  readonly path: string;
}

const columns: readonly Column<Row>[] = [
  { heading: 'AGENT', show: (row) => row.key },
  { heading: 'VERSION', show: (row) => row.version, style: () => 'good' },
  { heading: 'NOTE', least: 10, spare: 1, show: (row) => row.note, style: () => 'waiting' },
  { heading: 'BYTES', align: 'right', spare: 2, show: () => '1234567' },
  { heading: 'PATH', least: 12, cutAt: 'start', show: (row) => row.path },
];

const hostile: readonly Row[] = [
  { key: 'intake_triage', version: 'v3', note: 'held by root', path: 'Triage/rules.md' },
  {
    key: 'deck_review',
    version: 'v12345',
    note: '日本語の長い理由が、ここにあります。日本語の長い理由が、ここにあります。',
    path: `資料/${'深い/'.repeat(20)}規則.md`,
  },
  {
    key: 'x',
    version: 'v1',
    note: 'evil \u001b[2J\u202e\r\n reason 👩‍👩‍👧‍👦🇩🇪 ' + 'e\u0301'.repeat(60),
    path: `${'a'.repeat(200)}/end.md`,
  },
];

describe('a table on a terminal', () => {
  it.each([40, 80, 120])(
    'of %i columns is no wider, and keeps every agent key and version whole',
    (width) => {
      const { lines, leftOut } = layTable(columns, hostile, { width, paint: paintColoured });
      const plain = lines.map(stripVTControlCharacters);
      for (const line of plain) expect(displayWidth(line)).toBeLessThanOrEqual(width);
      for (const [index, { key, version }] of hostile.entries())
        expect(plain[index + 1]).toMatch(new RegExp(`^${key} +${version}\\b`));
      // Nothing but our own colours reaches the terminal.
      expect(plain).toEqual(layTable(columns, hostile, { width, paint: paintPlain }).lines);
      for (const line of plain) expect(line).not.toMatch(/\p{C}/u);
      expect(leftOut.includes('BYTES')).toBe(width === 40);
      expect(plain[1]).toContain('rules.md');
      expect(plain[3]).toMatch(/…a*\/end\.md$/);
    },
  );

  it('starts each column at the same place, whatever is wide in it', () => {
    const { lines } = layTable(columns.slice(0, 4), hostile, { width: 80, paint: paintPlain });
    const ends = lines.map((line) => displayWidth(line));
    expect(new Set(ends).size).toBe(1); // The last column is aligned to the right.
  });

  it('cannot be told from one that fits where there is room, and a pipe gets all of it', () => {
    const short = hostile.slice(0, 1);
    const whole = layTable(columns, short, { width: null, paint: paintPlain });
    expect(layTable(columns, short, { width: 200, paint: paintPlain })).toEqual(whole);
    const piped = layTable(columns, hostile, { width: null, paint: paintPlain });
    expect(piped.leftOut).toEqual([]);
    expect(piped.lines.join('\n')).not.toContain('…');
    expect(piped.lines[3]).toContain('a'.repeat(200));
  });

  it('is longer than its line where nothing in it may be cut or left out', () => {
    const { lines } = layTable(columns.slice(0, 2), hostile, { width: 10, paint: paintPlain });
    expect(lines[1]).toBe('intake_triage  v3');
  });

  it('control: a width counted in characters would be too wide for these rows', () => {
    const [, , wide] = layTable(columns, hostile, { width: null, paint: paintPlain }).lines;
    expect(displayWidth(wide?.slice(0, 80) ?? '')).toBeGreaterThan(80);
  });
});

describe('what is too long', () => {
  it.each([
    ['short', 10, 'end', 'short'],
    ['abcdefghij', 5, 'end', 'abcd…'],
    ['abcdefghij', 5, 'start', '…ghij'],
    ['日本語の', 6, 'end', '日本…'],
    ['日本語の', 5, 'end', '日本…'],
    ['e\u0301e\u0301e\u0301e\u0301', 3, 'end', 'e\u0301e\u0301…'],
    ['👍🏽👍🏽👍🏽', 4, 'end', '👍🏽…'],
  ] as const)('%j in %i columns loses its %s: %j', (text, width, at, cut) => {
    expect(shorten(text, width, at)).toBe(cut);
  });
});

describe('colours', () => {
  it.each([
    [true, {}, true],
    [false, {}, false],
    [true, { NO_COLOR: '1' }, false],
    [true, { NO_COLOR: '' }, true],
    [true, { TERM: 'dumb' }, false],
    [false, { FORCE_COLOR: '1' }, true],
    [true, { FORCE_COLOR: '0' }, false],
    [true, { NO_COLOR: '1', FORCE_COLOR: '1' }, true],
  ])('on a terminal: %s, with %j: %s', (isTerminal, environment, taken) => {
    expect(takesColour(isTerminal, environment)).toBe(taken);
  });

  it('change no width and leave an empty text empty', () => {
    expect(stripVTControlCharacters(paintColoured('bad', 'refused'))).toBe('refused');
    expect(paintColoured('bad', 'refused')).not.toBe('refused');
    expect(paintColoured('good', '')).toBe('');
  });
});

it('a finding is broken into lines below itself on a terminal, and is one line elsewhere', () => {
  const message = 'one two three four five six seven eight nine ten eleven twelve thirteen';
  const found = {
    faults: [{ code: 'null_byte' as const, relativePath: 'a.md', line: 3, message }],
    warnings: [],
  };
  const lines = findingLines(found, { width: 40, paint: paintPlain });
  expect(lines.length).toBeGreaterThan(2);
  for (const line of lines) expect(displayWidth(line)).toBeLessThanOrEqual(40);
  expect(lines[1]).toMatch(/^ {11}\S/);
  expect(findingLines(found)).toHaveLength(1);
});

it.each([
  [0, 'now'],
  [59_000, '59 s ago'],
  [200_000, '3 min ago'],
  [7_300_000, '2 h ago'],
  [-172_800_000, 'in 2 d'],
])('%i ms ago reads as %s', (ms, words) => {
  const now = new Date('2026-03-04T05:06:07Z');
  expect(formatAge(new Date(now.getTime() - ms), now)).toBe(words);
});
