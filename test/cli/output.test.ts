import { describe, expect, it } from 'vitest';
import { findingLines } from '../../src/cli/output/findings.ts';
import { displayWidth, printable, printableJson } from '../../src/cli/output/printable.ts';
import { formatFields, formatTable, formatTime } from '../../src/cli/output/table.ts';

describe('what is printed on a terminal', () => {
  it.each([
    ['\u001b[31mred\u001b[0m', String.raw`\u001b[31mred\u001b[0m`],
    ['two\nlines\r', String.raw`two\u000alines\u000d`],
    ['a\u202egnp.exe', String.raw`a\u202egnp.exe`],
    ['\u2066x\u2069', String.raw`\u2066x\u2069`],
    ['zero\u200bwidth', String.raw`zero\u200bwidth`],
    ['tag\u{e0041}', String.raw`tag\u{e0041}`],
    ['c1\u009b31m', String.raw`c1\u009b31m`],
    ['\u2028', String.raw`\u2028`],
    ['half a pair \ud800', String.raw`half a pair \ud800`],
    ['café ملاحظات 日本 🙂', 'café ملاحظات 日本 🙂'],
  ])('holds nothing that moves the cursor, reorders or hides: %j (T54)', (text, shown) => {
    expect(printable(text)).toBe(shown);
  });

  it('is the same JSON document to a reader, with what cannot be seen as escapes (T54)', () => {
    const value = { name: 'a\u202eb\u001b\u{e0041}\u007f', list: ['x\ny'] };
    const text = printableJson(value);
    expect(JSON.parse(text)).toEqual(value);
    expect(text).not.toMatch(/(?!\n)[\p{C}]/u);
  });

  it.each([
    ['abc', 3],
    ['cafe\u0301', 4],
    ['日本', 4],
    ['', 0],
  ])('%j takes %i columns', (text, width) => {
    expect(displayWidth(text)).toBe(width);
  });
});

describe('a table', () => {
  const columns = [
    { heading: 'NAME', show: (row: { name: string; size: number }) => row.name },
    { heading: 'SIZE', align: 'right' as const, show: (row: { size: number }) => String(row.size) },
    { heading: 'NOTE', show: (row: { size: number }) => (row.size > 9 ? 'big' : '') },
  ];

  it('aligns its columns and leaves no blanks at the end of a line', () => {
    expect(
      formatTable(columns, [
        { name: 'a', size: 5 },
        { name: '日本', size: 1234 },
        { name: 'a\nb', size: 10 },
      ]),
    ).toEqual([
      'NAME      SIZE  NOTE',
      'a            5',
      '日本      1234  big',
      String.raw`a\u000ab    10  big`,
    ]);
  });

  it('is its headings alone without rows', () => {
    expect(formatTable(columns, [])).toEqual(['NAME  SIZE  NOTE']);
  });

  it('of names and values aligns the values', () => {
    expect(
      formatFields([
        ['a', '1'],
        ['long name', 'x\u001b'],
      ]),
    ).toEqual(['  a          1', String.raw`  long name  x\u001b`]);
  });

  it('shows times in UTC to the second, and a dash for none', () => {
    expect(formatTime(new Date('2026-03-04T05:06:07.890Z'))).toBe('2026-03-04 05:06:07Z');
    expect(formatTime(null)).toBe('-');
  });
});

describe('a finding', () => {
  it('is one line that says the place once', () => {
    const found = {
      faults: [
        { code: 'script_markup' as const, relativePath: 'a.md', line: 3, message: 'Line 3: no.' },
        { code: 'missing_required' as const, relativePath: 'b.md', line: null, message: 'Not found: b.md.' },
      ],
      warnings: [
        { code: 'unknown_key' as const, relativePath: null, line: 7, message: 'x: this\nmeans nothing.' },
      ],
    };
    expect(findingLines(found)).toEqual([
      '  fault    script_markup (a.md): Line 3: no.',
      '  fault    missing_required: Not found: b.md.',
      String.raw`  warning  unknown_key (line 7): x: this\u000ameans nothing.`,
    ]);
  });
});
