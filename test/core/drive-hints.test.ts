import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { driveHints, type DriveChange } from '../../src/core/drive-hints.ts';
import type { KnownItem } from '../../src/core/drive-tree.ts';

/* Knowledge/                    folder 'root', the root of the registry's paths
 *   A/Rules.md                  file 'rules'
 *   A/Deep/Tone.md              file 'tone'
 *   B/Café.md                   listed, and not there
 *   C/Gone/Later.md             listed, and no folder on the way is there */
const listed = ['A/Rules.md', 'A/Deep/Tone.md', 'B/Caf\u00e9.md', 'C/Gone/Later.md'];
const known: readonly KnownItem[] = [
  { path: '.', kind: 'folder', itemId: 'root', parentId: 'drive', name: 'Knowledge' },
  { path: 'A', kind: 'folder', itemId: 'a', parentId: 'root', name: 'A' },
  { path: 'A/Deep', kind: 'folder', itemId: 'deep', parentId: 'a', name: 'Deep' },
  { path: 'B', kind: 'folder', itemId: 'b', parentId: 'root', name: 'B' },
  { path: 'A/Rules.md', kind: 'file', itemId: 'rules', parentId: 'a', name: 'Rules.md' },
  { path: 'A/Deep/Tone.md', kind: 'file', itemId: 'tone', parentId: 'deep', name: 'Tone.md' },
];

function change(id: string, change: Partial<DriveChange> = {}): DriveChange {
  return { id, name: null, parentId: null, kind: 'unknown', deleted: false, ...change };
}

function filesOf(...changes: readonly DriveChange[]): (string | null)[] {
  return driveHints(known, listed, changes).events.map((event) => event.file);
}

const ancestors = [
  change('root', { name: 'Knowledge', parentId: 'drive', kind: 'folder' }),
  change('a', { name: 'A', parentId: 'root', kind: 'folder' }),
  change('deep', { name: 'Deep', parentId: 'a', kind: 'folder' }),
  change('b', { name: 'B', parentId: 'root', kind: 'folder' }),
];

describe('a change of a file', () => {
  const cases: [string, DriveChange, string[]][] = [
    ['edited', change('rules', { name: 'Rules.md', parentId: 'a', kind: 'file' }), ['A/Rules.md']],
    ['renamed', change('rules', { name: 'Old.md', parentId: 'a', kind: 'file' }), ['A/Rules.md']],
    ['moved out of every known folder', change('rules', { name: 'Rules.md', parentId: 'x' }), ['A/Rules.md']],
    ['deleted, told by its id alone (D7, bug 19)', change('rules', { deleted: true }), ['A/Rules.md']],
    ['told by its id and nothing else (D12)', change('tone'), ['A/Deep/Tone.md']],
    ['made anew under its name (D14)', change('n', { name: 'Rules.md', parentId: 'a' }), ['A/Rules.md']],
    ['renamed in letter case only (A2)', change('n', { name: 'RULES.MD', parentId: 'a' }), ['A/Rules.md']],
    ['created decomposed (A7)', change('n', { name: 'Cafe\u0301.md', parentId: 'b' }), ['B/Caf\u00e9.md']],
    [
      'moved onto another listed path',
      change('rules', { name: 'tone.md', parentId: 'deep' }),
      ['A/Deep/Tone.md', 'A/Rules.md'],
    ],
    [
      'put in the place of a folder',
      change('n', { name: 'Deep', parentId: 'a', kind: 'file' }),
      ['A/Deep/Tone.md'],
    ],
    ['of the same name in another folder', change('n', { name: 'Rules.md', parentId: 'b' }), []],
    ['not listed', change('n', { name: 'Notes.md', parentId: 'a' }), []],
    ['unknown and deleted (D7)', change('n', { deleted: true }), []],
    ['without anything (D12)', change('n'), []],
  ];
  it.each(cases)('that was %s hints at the files it concerns', (_, given, files) => {
    expect(filesOf(given)).toEqual(files);
  });

  it('hints at one file without a burst, and at several with one', () => {
    const rules = change('rules', { deleted: true });
    const [only] = driveHints(known, listed, [rules]).events;
    expect(only).toEqual({ folder: 'A', file: 'A/Rules.md', name: 'Rules.md', burst: false });
    const both = driveHints(known, listed, [rules, change('tone')]).events;
    expect(both.map((event) => event.burst)).toEqual([true, true]);
  });
});

describe('a change of a folder', () => {
  it('that only rides along with a change below it wakes nobody (D4, D13), while the change itself does', () => {
    expect(filesOf(...ancestors)).toEqual([]);
    expect(driveHints(known, listed, ancestors).ignored).toBe(ancestors.length);
    expect(filesOf(...ancestors, change('tone', { name: 'Tone.md', parentId: 'deep' }))).toEqual([
      'A/Deep/Tone.md',
    ]);
  });

  const below: [string, DriveChange, string[]][] = [
    [
      'deleted, without its children (D10)',
      change('a', { deleted: true, kind: 'folder' }),
      ['A/Deep/Tone.md', 'A/Rules.md'],
    ],
    ['renamed (D5, F64)', change('a', { name: 'A2', parentId: 'root' }), ['A/Deep/Tone.md', 'A/Rules.md']],
    ['renamed in letter case only', change('deep', { name: 'deep', parentId: 'a' }), ['A/Deep/Tone.md']],
    ['moved (D5)', change('deep', { name: 'Deep', parentId: 'b' }), ['A/Deep/Tone.md']],
    [
      'stripped of its facet of deletion (D8, bug 7)',
      change('deep', { parentId: 'a' }),
      ['A/Deep/Tone.md', 'A/Rules.md'],
    ],
    [
      'copied and moved in (bug 17)',
      change('n', { name: 'C', parentId: 'root', kind: 'folder' }),
      ['C/Gone/Later.md'],
    ],
    [
      'deleted and made anew (A10, D14)',
      change('n', { name: 'deep', parentId: 'a', kind: 'folder' }),
      ['A/Deep/Tone.md'],
    ],
    ['the root itself, renamed', change('root', { name: 'K', parentId: 'drive' }), [...listed].sort()],
  ];
  it.each(below)('that was %s hints at everything below it', (_, given, files) => {
    expect(filesOf(given)).toEqual(files);
  });

  it('brings a burst along', () => {
    const { events } = driveHints(known, listed, [change('deep', { deleted: true })]);
    expect(events).toMatchObject([{ file: 'A/Deep/Tone.md', burst: true }]);
  });
});

describe('an entry without a name in a known folder', () => {
  it('may be any file of that folder, or any folder below it (bugs 19, 43)', () => {
    expect(filesOf(change('n', { parentId: 'a', deleted: true }))).toEqual(['A/Deep/Tone.md', 'A/Rules.md']);
    expect(filesOf(change('n', { parentId: 'a', deleted: true, kind: 'file' }))).toEqual(['A/Rules.md']);
    expect(filesOf(change('n', { parentId: 'a', deleted: true, kind: 'folder' }))).toEqual([
      'A/Deep/Tone.md',
    ]);
  });
});

describe('rounds of changes', () => {
  const anyChange = fc.record({
    id: fc.constantFrom('root', 'a', 'deep', 'b', 'rules', 'tone', 'new', 'other'),
    name: fc.constantFrom(
      null,
      'Knowledge',
      'A',
      'Deep',
      'deep',
      'C',
      'Rules.md',
      'tone.md',
      'Cafe\u0301.md',
      '__proto__',
    ),
    parentId: fc.constantFrom(null, 'drive', 'root', 'a', 'deep', 'b', 'elsewhere'),
    kind: fc.constantFrom('file' as const, 'folder' as const, 'unknown' as const),
    deleted: fc.boolean(),
  });
  const anyRound = fc.array(anyChange, { maxLength: 8 });

  it('come to the same in any order, and applied twice (D3)', () => {
    fc.assert(
      fc.property(anyRound, (round) => {
        const once = driveHints(known, listed, round);
        expect(driveHints(known, listed, round.toReversed())).toEqual(once);
        expect(driveHints(known, listed, [...round, ...round]).events).toEqual(once.events);
      }),
    );
  });

  it('come to no less than each of their changes alone, and only to listed files', () => {
    fc.assert(
      fc.property(anyRound, (round) => {
        const alone = round.flatMap((one) => filesOf(one));
        const together = filesOf(...round);
        expect(new Set(together)).toEqual(new Set(alone));
        expect(together).toHaveLength(new Set(alone).size);
        expect(listed).toEqual(expect.arrayContaining(together));
      }),
    );
  });

  it('never miss a known file that is named by its id', () => {
    fc.assert(
      fc.property(anyRound, anyChange, (round, last) => {
        expect(filesOf(...round, { ...last, id: 'rules' })).toContain('A/Rules.md');
      }),
    );
  });

  it('are judged in milliseconds where 50,000 items change beside 2,000 listed files (bug 39)', () => {
    const many = Array.from({ length: 2000 }, (_, at) => `A/Deep/File ${at}.md`);
    const changes = Array.from({ length: 50_000 }, (_, at) =>
      change(`x${at}`, { name: `File ${at}.md`, parentId: 'a' }),
    );
    const began = performance.now();
    expect(driveHints(known, many, changes).events).toEqual([]);
    expect(performance.now() - began).toBeLessThan(2000);
  });
});
