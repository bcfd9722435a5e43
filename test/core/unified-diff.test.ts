import { execFile, spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { applyPatch, parsePatch } from 'diff';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { lineDiffLimits } from '../../src/core/diff-hunks.ts';
import { renameDiff, unifiedDiff } from '../../src/core/unified-diff.ts';

type Compare = (before: string, after: string) => string;

const path = 'Triage/rules.md';

function compare(before: string, after: string): string {
  return unifiedDiff(
    { relativePath: path, label: 'v1', text: before },
    { relativePath: path, label: 'v2', text: after },
  );
}

/** Lines that are hard on whoever cuts texts into lines or patches into parts. */
const ends = ['', '\r', ' ', '\t', '\f', '\v', '\u0085', '\u2028'];
const words = ['', 'a', 'b', '\ufeff', '\ufeffa', '\u200b', 'e\u0301', 'مرحبا', '👩‍👩‍👧', '\u{10ffff}'];
const markup = String.raw`\ No newline at end of file|--- a/x|+++ b/x|@@ -1,1 +1,1 @@|-- |++|diff --git a/x b/x|Index: x|====`;
const line = fc
  .tuple(fc.constantFrom(...words, ...markup.split('|')), fc.constantFrom(...ends))
  .map((parts) => parts.join(''));
const anyText = fc
  .tuple(fc.array(line, { maxLength: 14 }), fc.constantFrom('\n', '\r\n'), fc.boolean())
  .map(([lines, end, isEnded]) => lines.join(end) + (isEnded && lines.length > 0 ? end : ''));
/** Far apart, so that there are several hunks. */
const anyPair = fc.oneof(
  fc.tuple(anyText, anyText),
  fc.tuple(anyText, anyText, anyText, fc.nat(12)).map(([start, middle, end, count]): [string, string] => {
    const filling = numbered('same', count);
    return [`${start}\n${filling}${middle}`, `${end}\n${filling}${middle}${start}`];
  }),
);

function numbered(word: string, count: number): string {
  return Array.from({ length: count }, (_, index) => `${word} ${index}\n`).join('');
}

/** Whether the patch makes the second text of the first, for a reader with the library's defaults and for a strict one. */
function isTrue(patch: string, before: string, after: string): boolean {
  if (before === after) return patch === '';
  return (
    applyPatch(before, patch) === after &&
    applyPatch(before, patch, { autoConvertLineEndings: false }) === after
  );
}

function isAlwaysTrue(compareTexts: Compare): boolean {
  const property = fc.property(anyPair, ([before, after]) =>
    isTrue(compareTexts(before, after), before, after),
  );
  return !fc.check(property, { numRuns: 1000 }).failed;
}

/** Texts that need more edits than are looked for: one block in their middle is another. */
function farApart(before: string, after: string): readonly [string, string] {
  const lines = lineDiffLimits.edits / 2 + 1;
  return [before + numbered('old', lines), numbered('new', lines) + after];
}

describe('a unified diff', () => {
  it('names the file and both versions, and shows three lines around a change', () => {
    expect(compare('1\n2\n3\n4\nfive\n6\n7\n8\n9\n', '1\n2\n3\n4\n5\n6\n7\n8\n9\n')).toBe(
      `--- a/${path}\tv1\n+++ b/${path}\tv2\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-five\n+5\n 6\n 7\n 8\n`,
    );
  });

  it('is empty between equal texts', () => {
    expect(compare('a\n', 'a\n')).toBe('');
  });

  it('shows carriage returns, marks and a missing line feed as they are', () => {
    expect(compare('\ufeffa\r\nb', 'a\r\nb\r\n').replace(/^.*\n.*\n/, '')).toBe(
      '@@ -1,2 +1,2 @@\n-\ufeffa\r\n-b\n\\ No newline at end of file\n+a\r\n+b\r\n',
    );
  });

  it('gives the other text when it is applied, whatever the texts are', () => {
    expect(isAlwaysTrue(compare)).toBe(true);
  });

  it.each<[string, Compare]>([
    ['carriage returns', (a, b) => compare(a.replaceAll('\r', ''), b.replaceAll('\r', ''))],
    ['byte-order marks', (a, b) => compare(a.replaceAll('\ufeff', ''), b.replaceAll('\ufeff', ''))],
    ['the missing line feed', (a, b) => compare(a, b).replaceAll('\\ No newline at end of file\n', '')],
    ['everything in a mess of counts', (a, b) => compare(a, b).replaceAll(/^@@ -\d+/gm, '@@ -2')],
  ])('would be caught at losing %s', (_what, spoiled) => {
    expect(isAlwaysTrue(spoiled)).toBe(false);
  });
});

describe('a comparison beyond the limits', () => {
  it('still gives the other text when it is applied', () => {
    fc.assert(
      fc.property(anyText, anyText, (start, end) => {
        const [before, after] = farApart(start, end);
        const patch = compare(before, after);
        expect(patch.match(/^@@ /gm)?.length).toBe(1);
        expect(isTrue(patch, before, after)).toBe(true);
      }),
      { numRuns: 6 },
    );
  });

  it('replaces what stands between the first and the last line that differ, and shows three lines around it', () => {
    const [old, fresh] = farApart('', '');
    const [head, tail] = [numbered('head', 10), numbered('tail', 10)];
    const lines = lineDiffLimits.edits / 2 + 1;
    const patch = compare(head + old + tail, head + fresh + tail);
    const marked = (mark: string, text: string) => text.replaceAll(/^(?=.)/gm, mark);
    expect(patch.replace(/^.*\n.*\n/, '')).toBe(
      [
        `@@ -8,${lines + 6} +8,${lines + 6} @@\n`,
        ' head 7\n head 8\n head 9\n',
        marked('-', old) + marked('+', fresh),
        ' tail 0\n tail 1\n tail 2\n',
      ].join(''),
    );
    expect(isTrue(patch, head + old + tail, head + fresh + tail)).toBe(true);
  });

  const letters = 'abcdefg';
  const drawn = (count: number, step: number): string =>
    Array.from({ length: count }, (_, index) => `${letters[(index * index + step * index) % 7]}\n`).join('');
  it.each<[string, string, string]>([
    ['100,000 lines against as many others', numbered('old', 100_000), numbered('new', 100_000)],
    ['100,000 lines in disorder', drawn(100_000, 1), drawn(100_000, 3)],
    ['a million empty lines', '\n'.repeat(1_000_000), '\n'.repeat(500_000)],
    ['one line of 1 MiB', 'x'.repeat(1_048_576), `${'x'.repeat(1_048_575)}y`],
    ['one line of 1 MiB and a line feed', 'x'.repeat(1_048_575), `${'x'.repeat(1_048_575)}\n`],
  ])('is bounded: %s', (_what, before, after) => {
    const started = performance.now();
    const patch = compare(before, after);
    // Some 0.2 s; without the limits minutes and gigabytes.
    expect(performance.now() - started).toBeLessThan(5000);
    expect(applyPatch(before, patch)).toBe(after);
  });
});

const run = promisify(execFile);

interface Side {
  readonly [path: string]: string;
}

/** Folders with the two sides and a patch between them; `use` runs in the first. */
async function applied(before: Side, after: Side, use: (folder: string, patch: string) => Promise<unknown>) {
  const folder = await mkdtemp(join(tmpdir(), 'agent-knowledge-patch-'));
  try {
    for (const [name, text] of Object.entries(before)) {
      await mkdir(dirname(join(folder, 'files', name)), { recursive: true });
      await writeFile(join(folder, 'files', name), text);
    }
    const side = (text: string | undefined, relativePath: string, label: string) =>
      text === undefined ? null : { relativePath, label, text };
    const names = new Set([...Object.keys(before), ...Object.keys(after)]);
    const diffs = [...names].map((name) =>
      unifiedDiff(side(before[name], name, 'v1'), side(after[name], name, 'v2')),
    );
    await writeFile(join(folder, 'patch'), diffs.join(''));
    await use(join(folder, 'files'), join(folder, 'patch'));
    const made = await Promise.all(
      Object.keys(after).map(async (name) => [name, await readFile(join(folder, 'files', name), 'utf8')]),
    );
    return Object.fromEntries(made) as Side;
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Git as it is without anybody's settings, in no repository. */
const plainGit = { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' };
const programs: Record<string, (folder: string, patch: string) => Promise<unknown>> = {
  'git apply': (cwd, patch) => run('git', ['apply', '--whitespace=nowarn', patch], { cwd, env: plainGit }),
  'patch -p1': (cwd, patch) => run('patch', ['-p1', '-i', patch], { cwd }),
};

/** Not every machine has them. */
const present = Object.entries(programs).filter(
  ([command]) => spawnSync(command.split(' ')[0]!, ['--version']).status === 0,
);

describe.each(present)('%s', (_command, use) => {
  const pairs = fc.sample(anyPair, { numRuns: 60, seed: 1 });
  const names = [
    'with blanks.md',
    ' blanks /at both.md',
    'tab\there.md',
    'قواعد/café 👍.md',
    `it's "so".md`,
    'back\\slash.md',
  ];
  const nameOf = (index: number): string => names[index] ?? `plain/${index}.md`;
  const sideOf = (which: 0 | 1): Side =>
    Object.fromEntries(pairs.map((pair, index) => [nameOf(index), pair[which]]));

  it('makes the second texts of the first, byte for byte and under any name', async () => {
    expect(await applied(sideOf(0), sideOf(1), use)).toEqual(sideOf(1));
  });

  it('would be caught with a patch that has lost its carriage returns', async () => {
    const spoiled = applied(sideOf(0), sideOf(1), async (folder, patch) => {
      await writeFile(patch, (await readFile(patch, 'utf8')).replaceAll('\r', ''));
      await use(folder, patch).catch(() => undefined);
    });
    expect(await spoiled).not.toEqual(sideOf(1));
  });

  it('makes new files and removes old ones', async () => {
    const after = { 'new/of it.md': 'one\r\ntwo', 'kept.md': 'k\n' };
    const leave = applied({ 'old.md': '\ufeffgone\n', 'kept.md': 'k\n' }, after, async (folder, patch) => {
      await use(folder, patch);
      await expect(readFile(join(folder, 'old.md'))).rejects.toThrow('ENOENT');
    });
    expect(await leave).toEqual(after);
  });

  it('follows a renamed file under any name', async () => {
    const after = { 'b/new name "1".md': 'text\n' };
    const made = applied({ 'a old.md': 'text\n' }, { ...after }, async (folder, patch) => {
      await writeFile(patch, renameDiff('a old.md', 'b/new name "1".md'));
      await use(folder, patch);
      await expect(readFile(join(folder, 'a old.md'))).rejects.toThrow('ENOENT');
    });
    expect(await made).toEqual(after);
  });
});

describe('a name', () => {
  it('is read back by the library as it was, whatever is in it', () => {
    for (const relativePath of [
      'with blanks.md',
      'tab\there.md',
      'q"uote.md',
      'back\\slash.md',
      'قواعد.md',
      'a\u0085b.md',
    ]) {
      const patch = unifiedDiff(
        { relativePath, label: 'v1', text: '' },
        { relativePath, label: 'v9', text: 'x' },
      );
      expect(parsePatch(patch)).toMatchObject([
        {
          oldFileName: `a/${relativePath}`,
          newFileName: `b/${relativePath}`,
          oldHeader: 'v1',
          newHeader: 'v9',
        },
      ]);
      expect(parsePatch(renameDiff(relativePath, 'x y'))).toMatchObject([
        { oldFileName: `a/${relativePath}`, newFileName: 'b/x y', isRename: true },
      ]);
    }
  });
});
