import { readFile, rename, rm, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sha256 } from '../../src/core/checksum.ts';
import type { PackageLook } from '../../src/core/look.ts';
import type { LookOptions } from '../../src/source/source.ts';
import type { Thing } from './source-folder.ts';

/** One state of a folder and one question, which every driver answers in the same way. */
export interface Situation {
  /** Completes "a driver answers …". */
  readonly says: string;
  /** What lies in the situation's own folder. */
  readonly things: Readonly<Record<string, Thing>>;
  readonly files: readonly string[];
  readonly options?: Partial<LookOptions>;
  /** What changes before a second look, whose answer counts then. */
  readonly after?: (folder: string) => Promise<unknown>;
  /** One per file, as `summarize` words it; a text that begins with `=` is the content. */
  readonly expected: readonly string[];
}

/** Names that have broken others: in addresses, in encodings, in either Unicode form. */
export const oddNames = [
  'with space.md',
  'a#1.md',
  '100%.md',
  'a%20b.md',
  'R&D + more.md',
  "it's (final).md",
  'caf\u00e9.md',
  'nai\u0308ve.md',
  '\u0639\u0631\u0628\u064a.md',
  '\u{1f30d} \u{1f468}\u200d\u{1f469}\u200d\u{1f467}.md',
  'semi;colon=and,comma@x$!~.md',
  'Folder #2 100%/\u00fcber\u0300/\u{1f4da} b.md',
];

export const situations: readonly Situation[] = [
  {
    says: 'the exact bytes of every file, in the order asked',
    things: {
      'b.md': '\ufeffmark\r\n\u0000\n',
      'a.md': new Uint8Array([0, 255, 254, 128, 13, 10]),
      'z/y.md': 'deep',
    },
    files: ['z/y.md', 'a.md', 'b.md'],
    expected: ['=deep', 'present 6 bytes', '=\ufeffmark\r\n\u0000\n'],
  },
  {
    says: 'a file under whatever name it is listed exactly (A3, A4, bug 28)',
    things: Object.fromEntries(oddNames.map((name) => [name, `text of ${name}`])),
    files: oddNames,
    expected: oddNames.map((name) => `=text of ${name}`),
  },
  {
    says: 'an empty file as one (bug 20)',
    things: { 'empty.md': '' },
    files: ['empty.md'],
    expected: ['='],
  },
  {
    says: 'a missing file, and one in a missing folder, as absent (bug 35)',
    things: { 'a.md': 'x' },
    files: ['gone.md', 'no/such/a.md', 'a.md', 'a.md/below.md'],
    expected: ['absent', 'absent', '=x', 'absent'],
  },
  {
    says: 'another letter case as absent with a hint (A2), a folder’s too',
    things: { 'Readme.md': 'x', 'Docs/a.md': 'x' },
    files: ['readme.md', 'docs/a.md', 'Docs/A.md'],
    expected: ['absent name_differs_by_case', 'absent name_differs_by_case', 'absent name_differs_by_case'],
  },
  {
    says: 'conflict copies beside an absent file',
    things: { 'plan (1).md': 'x' },
    files: ['plan.md'],
    expected: ['absent conflict_copy_present'],
  },
  {
    says: 'a folder in the place of a file as no regular file',
    things: { 'docs/a.md': 'x' },
    files: ['docs'],
    expected: ['refused not_regular_file'],
  },
  {
    says: 'a file of the most bytes, and none of one byte more (K-084)',
    things: { 'most.md': 'x'.repeat(100), 'more.md': 'x'.repeat(101) },
    files: ['most.md', 'more.md'],
    options: { maxFileBytes: 100 },
    expected: [`=${'x'.repeat(100)}`, 'refused too_large'],
  },
  {
    says: 'checksums and sizes alone where no content is asked for',
    things: { 'a.md': 'text' },
    files: ['a.md', 'gone.md'],
    options: { withContent: false },
    expected: ['present 4 bytes, no content', 'absent'],
  },
  {
    says: 'what a file is now after it was written, at the same length and time',
    things: { 'a.md': 'one', 'b.md': 'same' },
    files: ['a.md', 'b.md'],
    after: (folder) => writeFile(join(folder, 'a.md'), 'two'),
    expected: ['=two', '=same'],
  },
  {
    says: 'a file that was deleted as absent, and one made anew under its name as there (A10)',
    things: { 'a.md': 'one', 'b.md': 'one' },
    files: ['a.md', 'b.md'],
    after: async (folder) => {
      await unlink(join(folder, 'a.md'));
      await rm(join(folder, 'b.md'));
      await writeFile(join(folder, 'b.md'), 'anew');
    },
    expected: ['absent', '=anew'],
  },
  {
    says: 'names that two files exchanged (A1, bug 36)',
    things: { 'a.md': 'first', 'b.md': 'second' },
    files: ['a.md', 'b.md'],
    after: async (folder) => {
      await rename(join(folder, 'a.md'), join(folder, 'c.md'));
      await rename(join(folder, 'b.md'), join(folder, 'a.md'));
      await rename(join(folder, 'c.md'), join(folder, 'b.md'));
    },
    expected: ['=second', '=first'],
  },
  {
    says: 'a name whose letter case was changed as absent (A2)',
    things: { 'docs/a.md': 'x' },
    files: ['docs/a.md'],
    after: (folder) => rename(join(folder, 'docs'), join(folder, 'DOCS')),
    expected: ['absent name_differs_by_case'],
  },
  {
    says: 'files below a folder that was moved away and back',
    things: { 'docs/a.md': 'x' },
    files: ['docs/a.md'],
    after: async (folder) => {
      await rename(join(folder, 'docs'), join(folder, 'away'));
      await rename(join(folder, 'away'), join(folder, 'docs'));
    },
    expected: ['=x'],
  },
];

/** Every outcome of a look as a text, without the words for people, which drivers choose. */
export function summarize(look: PackageLook): string[] {
  if (look.root === 'trouble') return [`root ${look.code}`];
  return look.files.map((file) => {
    switch (file.state) {
      case 'present': {
        const { content, sizeBytes, checksum } = file;
        if (content === null) return `present ${sizeBytes} bytes, no content`;
        if (sha256(content) !== checksum || content.length !== sizeBytes) return 'a lie';
        const text = Buffer.from(content).toString();
        return Buffer.from(text).equals(Buffer.from(content)) ? `=${text}` : `present ${sizeBytes} bytes`;
      }
      case 'absent':
        // A folder cannot tell what became of a file that is gone; a drive can.
        return ['absent', ...new Set(file.hints.map(({ code }) => code))]
          .filter((code) => !['renamed', 'moved', 'deleted'].includes(code))
          .join(' ');
      case 'refused':
        return `refused ${file.code}`;
      default:
        return file satisfies never;
    }
  });
}

/** What a look says of a file that is there, and what the disk holds. */
export async function compareWithDisk(root: string, look: PackageLook): Promise<string[]> {
  if (look.root === 'trouble') return [look.code];
  const faults: string[] = [];
  for (const file of look.files) {
    if (file.state !== 'present') continue;
    const bytes = await readFile(join(root, file.relativePath));
    if (sha256(bytes) !== file.checksum) faults.push(file.relativePath);
  }
  return faults;
}
