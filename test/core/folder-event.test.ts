import { describe, expect, test } from 'vitest';
import { hintFor, type FolderEvent } from '../../src/core/folder-event.ts';
import type { RelativePath } from '../../src/core/package.ts';

const files = ['shared/rules.md', 'agent/prompt.md', 'agent/a.md'].map((path) => ({
  relativePath: path as RelativePath,
}));
const event = (change: Partial<FolderEvent>): FolderEvent => ({
  folder: 'agent',
  file: null,
  name: null,
  burst: true,
  ...change,
});

describe('what an event in a folder means for a package', () => {
  test.each<[string, Partial<FolderEvent>, ReturnType<typeof hintFor>]>([
    ['a listed file', { file: 'agent/a.md', burst: false }, { file: 'agent/a.md', burst: false }],
    ['a file that only others list, though it lies beside', { file: 'agent/theirs.md', burst: false }, null],
    ['a folder without its files', { folder: 'elsewhere', name: 'x' }, null],
    ['a folder whose name only begins alike', { folder: 'agen' }, null],
    ['the folder itself', {}, { file: null, burst: true, aside: true }],
    ['the root', { folder: '.' }, { file: null, burst: true, aside: true }],
    ['a stranger’s temporary name', { name: 'theirs.md.tmp' }, { file: null, burst: true, aside: true }],
    ['a name of no meaning', { name: '4913' }, { file: null, burst: true, aside: true }],
    ...[
      'prompt.md.tmp',
      '~$prompt.md',
      '.prompt.md.swp',
      'PROMPT-HOST.md',
      'prompt (1).md',
      'a.md.partial',
    ].map((name): [string, Partial<FolderEvent>, ReturnType<typeof hintFor>] => [
      `a name like one of its own: ${name}`,
      { name },
      { file: null, burst: true, aside: false },
    ]),
    ['a short stem is in too many names', { name: 'another.tmp' }, { file: null, burst: true, aside: true }],
    [
      'its own name elsewhere',
      { folder: 'shared', name: 'prompt.md.tmp' },
      { file: null, burst: true, aside: true },
    ],
  ])('%s', (_, change, expected) => {
    expect(hintFor(event(change), files)).toEqual(expected);
  });

  test('names are compared in one Unicode form', () => {
    const listed = [{ relativePath: 'Übersicht.md' as RelativePath }];
    const temporary = event({ folder: '.', name: 'Übersicht.md.tmp'.normalize('NFD') });
    expect(hintFor(temporary, listed)).toMatchObject({ aside: false });
  });
});
