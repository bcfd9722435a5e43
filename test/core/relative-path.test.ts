import { posix, win32 } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { quote } from '../../src/core/quote.ts';
import { checkRelativePath, foldPath } from '../../src/core/registry/relative-path.ts';

/** Rows for a table whose titles show what cannot be seen. */
const shown = (rows: readonly (readonly [string, string])[]) =>
  rows.map(([text, code]) => ({ shown: quote(text), code, text }));

const codeOf = (text: string) => checkRelativePath(text)?.code ?? 'accepted';

describe('a path below the root', () => {
  it.each([
    ['folders and names with spaces and dashes', 'AUTO-025 - Startup Intake - v01/04 Prompts/RULES.md'],
    ['a single name', 'README'],
    ['brackets that look like a copy', 'Policies/Tier (1).md'],
    ['brackets that elsewhere are a pattern', 'Policies/[a-z] {x}.md'],
    ['signs that mean something to a shell or an address', "R&D #1 $5 + 50% = ok; it's @ !.md"],
    ['percent-encoded blanks as a literal name', 'Fund%20notes.md'],
    ['a leading dot', '.github/rules.md'],
    ['dots inside and in front of a name', '..notes...final.md'],
    ['a tilde that is no home folder', '~archive/~notes.md'],
    ['words that begin like device names', 'Console/nulls/COM10/CONTRACT.md'],
    ['a dash in front', '-notes.md'],
    ['Cyrillic', 'Правила/отбор.md'],
    ['Chinese, with its own punctuation and space', '规则/常见问题？：一\u3000二.md'],
    ['full-width letters', 'ＲＵＬＥＳ.md'],
    ['decomposed accents', 'Cafe\u0301/re\u0300gles.md'],
    ['right-to-left letters', 'معرفة/قواعد.md'],
    ['a direction mark beside right-to-left letters', 'כללים\u200f (1).md'],
    ['a non-joiner between Persian letters', 'می\u200cخواهم/قواعد.md'],
    ['a joiner between Devanagari letters', 'क्\u200dष.md'],
    ['an emoji with its selector', 'Warnings ⚠\ufe0f/list.md'],
    ['a joined emoji', 'Team \u{1f469}\u200d\u{1f4bb}.md'],
    ['a keycap', '1\ufe0f\u20e3 first.md'],
    ['400 characters', `${'abcdefghi/'.repeat(39)}abcdefg.md`],
    ['255 bytes in a segment', `${'é'.repeat(126)}.md`],
  ])('may hold %s (K-021)', (_, text) => {
    expect(codeOf(text)).toBe('accepted');
  });
});

/** K-017, K-018: sixty spellings that try to leave the root. */
const waysOut: readonly [string, string][] = [
  ['..', 'path_traversal'],
  ['../secret.md', 'path_traversal'],
  ['a/../../secret.md', 'path_traversal'],
  ['a/../b.md', 'path_traversal'],
  ['a/..', 'path_traversal'],
  ['../', 'path_traversal'],
  ['./../x', 'path_traversal'],
  ['a//../x', 'path_traversal'],
  ['.../x', 'path_traversal'],
  ['..../x', 'path_traversal'],
  ['.. /x', 'path_traversal'],
  ['..  /x', 'path_traversal'],
  [' ../x', 'path_traversal'],
  ['. ./x', 'path_traversal'],
  ['.. ./x', 'path_traversal'],
  ['..\u00a0/x', 'path_traversal'],
  ['..\t/x', 'path_traversal'],
  ['..\n/x', 'path_traversal'],
  ['..\0/x', 'path_traversal'],
  ['.\u200b./x', 'path_traversal'],
  ['..\u202e/x', 'path_traversal'],
  ['..;/x', 'path_traversal'],
  ['..;v=1/x', 'path_traversal'],
  ['..#/x', 'path_traversal'],
  ['..\\x', 'path_traversal'],
  ['a\\..\\..\\x', 'path_traversal'],
  ['a/..\\x', 'path_traversal'],
  ['..∕x', 'path_traversal'],
  ['..／x', 'path_traversal'],
  ['．．/x', 'path_traversal'],
  ['‥/x', 'path_traversal'],
  ['․․/x', 'path_traversal'],
  ['%2e%2e/x', 'path_traversal'],
  ['%2E%2E/x', 'path_traversal'],
  ['.%2e/x', 'path_traversal'],
  ['..%2fx', 'path_traversal'],
  ['..%5cx', 'path_traversal'],
  ['%2e%2e%2fx', 'path_traversal'],
  ['%252e%252e%252fx', 'path_traversal'],
  ['%25252e%25252e/x', 'path_traversal'],
  ['%25%32%65%25%32%65/x', 'path_traversal'],
  ['%c0%ae%c0%ae/x', 'path_traversal'],
  ['..%c0%afx', 'path_traversal'],
  ['..%c1%9cx', 'path_traversal'],
  ['%e0%80%ae%e0%80%ae/x', 'path_traversal'],
  ['%u002e%u002e/x', 'path_traversal'],
  ['..%u2215x', 'path_traversal'],
  ['..%00/x', 'path_traversal'],
  ['/etc/hostname', 'absolute_path'],
  ['//server/share/x', 'absolute_path'],
  ['\\\\server\\share\\x', 'absolute_path'],
  ['\\\\?\\C:\\x', 'absolute_path'],
  ['//?/C:/x', 'absolute_path'],
  ['\\\\.\\PhysicalDrive0', 'absolute_path'],
  ['\\Windows\\x', 'absolute_path'],
  ['C:/x', 'absolute_path'],
  ['c:\\x', 'absolute_path'],
  ['C:x', 'absolute_path'],
  ['C%3A/x', 'absolute_path'],
  [' /etc/hostname', 'absolute_path'],
  ['%2fetc%2fhostname', 'absolute_path'],
  ['file:///etc/hostname', 'absolute_path'],
  ['file:etc/hostname', 'absolute_path'],
  ['https://example.org/x', 'absolute_path'],
  ['~/x', 'absolute_path'],
  ['~', 'absolute_path'],
];

describe('a way out of the root', () => {
  it.each(shown(waysOut))('$shown is refused: $code (K-017, K-018)', ({ text, code }) => {
    expect(codeOf(text)).toBe(code);
  });

  it('is looked for in a text of any length without delay', () => {
    expect(codeOf('%25'.repeat(5_000_000))).toBe('path_too_long');
  });

  it('is known in sixty spellings', () => {
    expect(new Set(waysOut.map(([text]) => text)).size).toBeGreaterThanOrEqual(60);
  });
});

describe('a text that names no single file', () => {
  it.each(
    shown([
      ['', 'empty_path'],
      ['   ', 'empty_path'],
      ['\t\n', 'empty_path'],
      ['\u3000', 'empty_path'],
      ['*.md', 'wildcard_path'],
      ['**/RULES.md', 'wildcard_path'],
      ['a/b?.md', 'wildcard_path'],
      ['*\\x', 'wildcard_path'],
      ['a\\b.md', 'backslash_path'],
      ['a.md\\', 'backslash_path'],
      ['.', 'non_canonical_path'],
      ['./a.md', 'non_canonical_path'],
      ['a/./b.md', 'non_canonical_path'],
      ['a/.', 'non_canonical_path'],
      ['a//b.md', 'non_canonical_path'],
      ['a/', 'non_canonical_path'],
      ['a/ /b.md', 'non_canonical_path'],
      ['. /b.md', 'non_canonical_path'],
      ['%2e/b.md', 'non_canonical_path'],
    ]),
  )('$shown is refused: $code (K-013, K-016)', ({ text, code }) => {
    expect(codeOf(text)).toBe(code);
  });
});

describe('a name that cannot arrive, or arrives as another', () => {
  it.each(
    shown([
      ['NUL', 'reserved_name'],
      ['a/NUL.md', 'reserved_name'],
      ['a/nul.tar.gz', 'reserved_name'],
      ['a/NUL .md', 'reserved_name'],
      ['CON/x.md', 'reserved_name'],
      ['prn', 'reserved_name'],
      ['Aux.md', 'reserved_name'],
      ['COM0', 'reserved_name'],
      ['com9.md', 'reserved_name'],
      ['LPT1.md', 'reserved_name'],
      ['COM¹.md', 'reserved_name'],
      ['lpt³', 'reserved_name'],
      ['CONIN$', 'reserved_name'],
      ['a/.lock', 'reserved_name'],
      ['Desktop.ini', 'reserved_name'],
      ['a/~$rules.md', 'reserved_name'],
      ['a/x_VTI_y/b.md', 'reserved_name'],
      ['-', 'reserved_name'],
      ['a/-/b.md', 'reserved_name'],
      ['a.md:stream', 'bad_path_character'],
      ['a"b.md', 'bad_path_character'],
      ['a<b>.md', 'bad_path_character'],
      ['a|b.md', 'bad_path_character'],
      ['a.md.', 'bad_path_character'],
      ['a./b.md', 'bad_path_character'],
      ['a.md ', 'bad_path_character'],
      [' a.md', 'bad_path_character'],
      ['a/ b.md', 'bad_path_character'],
      ['a%2fb.md', 'bad_path_character'],
      ['a%252fb.md', 'bad_path_character'],
      ['a%5Cb.md', 'bad_path_character'],
      ['a%00.md', 'bad_path_character'],
      ['a%2500.md', 'bad_path_character'],
      ['a%0d%0ab.md', 'bad_path_character'],
      [`${'abcdefghi/'.repeat(39)}abcdefgh.md`, 'path_too_long'],
      [`a/${'é'.repeat(126)}x.md`, 'path_too_long'],
    ]),
  )('$shown is refused: $code', ({ text, code }) => {
    expect(codeOf(text)).toBe(code);
  });
});

/** Forty spellings of `rules/core.md` that a reader takes for it, or nearly. */
const lookAlikes: readonly [string, string][] = [
  ['rules\u2044core.md', 'bad_path_character'],
  ['rules\u2215core.md', 'bad_path_character'],
  ['rules\u29f8core.md', 'bad_path_character'],
  ['rules\uff0fcore.md', 'bad_path_character'],
  ['rules\uff3ccore.md', 'bad_path_character'],
  ['rules\u2216core.md', 'bad_path_character'],
  ['rules/ru\u00a0les.md', 'bad_path_character'],
  ['rules/ru\u2003les.md', 'bad_path_character'],
  ['rules/ru\u202fles.md', 'bad_path_character'],
  ['rules/co\u200bre.md', 'bad_path_character'],
  ['rules/co\u200cre.md', 'bad_path_character'],
  ['rules/co\u200dre.md', 'bad_path_character'],
  ['rules/co\u200ere.md', 'bad_path_character'],
  ['rules/co\u200fre.md', 'bad_path_character'],
  ['rules/co\u2060re.md', 'bad_path_character'],
  ['rules/co\ufeffre.md', 'bad_path_character'],
  ['rules/co\u00adre.md', 'bad_path_character'],
  ['rules/co\u034fre.md', 'bad_path_character'],
  ['rules/co\u180ere.md', 'bad_path_character'],
  ['rules/core\ufe0f.md', 'bad_path_character'],
  ['rules/core\u{e0100}.md', 'bad_path_character'],
  ['rules/core\u{e0041}.md', 'bad_path_character'],
  ['rules/\u202eeroc\u202c.md', 'bad_path_character'],
  ['rules/\u2066core\u2069.md', 'bad_path_character'],
  ['rules/core\u115f.md', 'bad_path_character'],
  ['rules/core\u3164.md', 'bad_path_character'],
  ['rules/core\u2800.md', 'bad_path_character'],
  ['rules/core\ue000.md', 'bad_path_character'],
  ['rules/core\ufffe.md', 'bad_path_character'],
  ['rules/core\ud83d.md', 'bad_path_character'],
  ['rules/core\u2028.md', 'bad_path_character'],
  ['rules/core\u0085.md', 'bad_path_character'],
  ['rules/core\u007f.md', 'bad_path_character'],
  ['rules/core.md\r', 'bad_path_character'],
  ['rules/\u0338core.md', 'bad_path_character'],
  ['می\u200c\u200cخواهم.md', 'bad_path_character'],
  ['قواعد\u200f\u200f.md', 'bad_path_character'],
  // Other letters make another file: where the folder has no such file, the refresh says so.
  ['rules/c\u043ere.md', 'accepted'],
  ['rules/c\u03bfre.md', 'accepted'],
  ['ｒｕｌｅｓ/core.md', 'accepted'],
  ['rules/𝐜ore.md', 'accepted'],
  ['rules/core․md', 'accepted'],
];

describe('a look-alike', () => {
  it.each(shown(lookAlikes))('$shown is $code', ({ text, code }) => {
    expect(codeOf(text)).toBe(code);
  });
});

describe('two spellings of one file', () => {
  it.each([
    ['letter case', 'Rules/CORE.md', 'rules/core.md'],
    ['Unicode form', 'Notes/caf\u00e9.md', 'Notes/cafe\u0301.md'],
    ['both', 'NOTES/CAF\u00c9.md', 'notes/cafe\u0301.md'],
    ['sharp s', 'Straße.md', 'STRASSE.md'],
    ['final sigma', 'ΛΟΓΟΣ.md', 'λογος.md'],
    ['the Kelvin sign', '\u212a.md', 'k.md'],
  ])('fold to the same text: %s (K-014)', (_, left, right) => {
    expect(foldPath(left)).toBe(foldPath(right));
  });

  it('keep apart what every file system keeps apart', () => {
    expect(foldPath('می\u200cخواهم.md')).not.toBe(foldPath('میخواهم.md'));
  });
});

/** Pieces that the rules are about, with plain ones often enough for whole paths to be accepted. */
const piece = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('a', 'Rules', 'é', 'قواعد', '规', '/', '/', '.md', '-', ' ') },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      '.',
      '..',
      '%2e',
      '%2f',
      '%5c',
      '%25',
      '%32',
      '%65',
      '%',
      ';',
      '~',
      '$',
      '#',
      '\u200c',
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom('\\', 'C:', '*', '?', '\n', '\0', '\t', '．', '／', '\u202e', 'NUL', '\ud800'),
  },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 3 }) },
);
const anyText = fc.array(piece, { minLength: 1, maxLength: 12 }).map((pieces) => pieces.join(''));
const acceptedPath = anyText.filter((text) => checkRelativePath(text) === null);

describe('every accepted path', () => {
  const runs = { numRuns: 10_000 };

  it('stays below the root when joined and normalised, on both kinds of system (K-018)', () => {
    fc.assert(
      fc.property(acceptedPath, (path) => {
        expect(posix.join('/srv/root', path)).toBe(`/srv/root/${path}`);
        expect(win32.join('D:\\root', path)).toBe(`D:\\root\\${path.replaceAll('/', '\\')}`);
        expect(posix.isAbsolute(path) || win32.isAbsolute(path)).toBe(false);
      }),
      runs,
    );
  });

  it('stays below the root as an address, encoded once or carelessly not at all', () => {
    fc.assert(
      fc.property(acceptedPath, (path) => {
        const encoded = path.split('/').map(encodeURIComponent).join('/');
        expect(new URL(`https://example.org/root/${encoded}`).pathname).toBe(`/root/${encoded}`);
        expect(new URL(`https://example.org/root/${path}`).pathname).toMatch(/^\/root\//);
      }),
      runs,
    );
  });

  it('holds no backslash, line break or control character, and is well-formed', () => {
    fc.assert(
      fc.property(acceptedPath, (path) => {
        expect(path).not.toMatch(/[\\\p{Cc}\p{Zl}\p{Zp}]/u);
        expect(path.isWellFormed()).toBe(true);
        expect(path.length).toBeLessThanOrEqual(400);
      }),
      runs,
    );
  });

  it('is answered for without an exception, as every text is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 500 }), (text) => {
        checkRelativePath(text);
        foldPath(text);
      }),
      runs,
    );
  });
});
