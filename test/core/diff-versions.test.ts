import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sha256 } from '../../src/core/checksum.ts';
import { diffManifests, type ManifestDiff } from '../../src/core/diff-versions.ts';
import type { RelativePath, Sha256 } from '../../src/core/package.ts';

interface Line {
  readonly relativePath: RelativePath;
  readonly checksum: Sha256;
}

type Compare = (from: readonly Line[], to: readonly Line[]) => ManifestDiff<Line>;

/** `a=1 b=2`: path and content of each file, in load order. */
function manifest(text: string): Line[] {
  return text.split(' ').flatMap((word) => {
    const [path = '', content = ''] = word.split('=');
    return path === '' ? [] : [{ relativePath: path as RelativePath, checksum: sha256(content) }];
  });
}

/** Few paths and fewer contents, so that everything that can happen to a file happens often. */
const anyManifest = fc
  .uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g'), { maxLength: 7 })
  .chain((paths) =>
    fc
      .array(fc.constantFrom('1', '2', '3'), { minLength: paths.length, maxLength: paths.length })
      .map((contents) => manifest(paths.map((path, index) => `${path}=${contents[index]}`).join(' '))),
  );

/** The files that both have, under their later names, in their earlier order; throws where a file is named twice or is not there. */
function carryOut(from: readonly Line[], diff: ManifestDiff<Line>): Line[] {
  const left = new Map(from.map((file) => [file.relativePath, file]));
  const take = (file: Line): void => {
    if (left.get(file.relativePath)?.checksum !== file.checksum || !left.delete(file.relativePath)) {
      throw new Error(`${file.relativePath} is not there as it was.`);
    }
  };
  const later = new Map<RelativePath, Line>();
  for (const file of diff.removed) take(file);
  for (const { before, after } of [...diff.changed, ...diff.renamed]) {
    take(before);
    later.set(before.relativePath, after);
  }
  return from.flatMap((file) => later.get(file.relativePath) ?? left.get(file.relativePath) ?? []);
}

/** Null, or what of `to` the comparison does not lead to. */
function faultOf(compare: Compare, from: readonly Line[], to: readonly Line[]): string | null {
  const diff = compare(from, to);
  const kept = carryOut(from, diff);
  const wordsOf = (files: readonly Line[]) =>
    files.map(({ relativePath, checksum }) => `${relativePath} ${checksum}`);
  const [made, wanted] = [wordsOf([...kept, ...diff.added]).toSorted(), wordsOf(to).toSorted()];
  if (made.join() !== wanted.join()) return 'other files';
  const added = new Set(wordsOf(diff.added));
  const inOrder = wordsOf(to).filter((word) => !added.has(word));
  return (inOrder.join() !== wordsOf(kept).join()) === diff.reordered ? null : 'another order';
}

function findFault(compare: Compare): string | null {
  let fault: string | null = null;
  fc.check(
    fc.property(anyManifest, anyManifest, (from, to) => {
      try {
        fault = faultOf(compare, from, to) ?? fault;
      } catch (error) {
        fault = String(error);
      }
      return fault === null;
    }),
    { numRuns: 2000 },
  );
  return fault;
}

/** The comparison in words: `+path`, `-path`, `~path`, `from>to`, and `order`. */
function wordsOf({ added, removed, changed, renamed, reordered }: ManifestDiff<Line>): string {
  return [
    ...added.map((file) => `+${file.relativePath}`),
    ...removed.map((file) => `-${file.relativePath}`),
    ...changed.map(({ after }) => `~${after.relativePath}`),
    ...renamed.map(({ before, after }) => `${before.relativePath}>${after.relativePath}`),
    ...(reordered ? ['order'] : []),
  ].join(' ');
}

/** Those of the other direction, with the lists in an order of their own. */
function mirrorOf(diff: ManifestDiff<Line>): ManifestDiff<Line> {
  const turn = ({ before, after }: { before: Line; after: Line }) => ({ before: after, after: before });
  return {
    ...diff,
    added: diff.removed,
    removed: diff.added,
    changed: diff.changed.map(turn),
    renamed: diff.renamed.map(turn),
  };
}

describe('the difference between two manifests', () => {
  it.each([
    ['a=1 b=2', 'a=1 b=2', ''],
    ['a=1', 'a=1 b=2', '+b'],
    ['a=1 b=2', 'a=1', '-b'],
    ['a=1', 'a=2', '~a'],
    ['a=1 b=2', 'a=2 b=1', '~a ~b'],
    ['a=1', 'b=1', 'a>b'],
    ['a=1', 'a=1 b=1', '+b'],
    ['a=1 b=1', 'c=1 d=1', 'a>c b>d'],
    ['a=1 b=1', 'c=1', '-b a>c'],
    ['a=1', 'c=1 d=1', '+d a>c'],
    ['a=1 b=2 c=3', 'c=3 a=1 b=2', 'order'],
    ['a=1 b=2', 'b=2 d=1', 'a>d order'],
    ['a=1 b=2', 'c=3 a=1 d=4 b=2', '+c +d'],
    ['', 'a=1', '+a'],
    ['a=1', '', '-a'],
  ])('from "%s" to "%s" is "%s"', (from, to, words) => {
    expect(wordsOf(diffManifests(manifest(from), manifest(to)))).toBe(words);
  });

  it('carried out, makes the second of the first: paths, contents, and the order unless it says otherwise', () => {
    expect(findFault(diffManifests)).toBeNull();
  });

  it('is nothing between a manifest and itself, and the mirror image the other way round', () => {
    fc.assert(
      fc.property(anyManifest, anyManifest, (from, to) => {
        expect(wordsOf(diffManifests(from, from))).toBe('');
        const sorted = (diff: ManifestDiff<Line>) => wordsOf(diff).split(' ').toSorted();
        expect(sorted(diffManifests(to, from))).toEqual(sorted(mirrorOf(diffManifests(from, to))));
      }),
    );
  });
});

describe('a comparison with a fault in it is caught:', () => {
  const faulty: Record<string, (diff: ManifestDiff<Line>) => ManifestDiff<Line>> = {
    'one that never sees another order': (diff) => ({ ...diff, reordered: false }),
    'one that forgets what was removed': (diff) => ({ ...diff, removed: [] }),
    'one that takes a renamed file for an added one as well': (diff) => ({
      ...diff,
      added: [...diff.added, ...diff.renamed.map(({ after }) => after)],
    }),
    'one that takes one file for the origin of several': (diff) => ({
      ...diff,
      renamed: diff.renamed.map(({ after }) => ({ before: diff.renamed[0]!.before, after })),
    }),
    'one that does not look at contents': (diff) => ({ ...diff, changed: [] }),
  };
  for (const [what, spoil] of Object.entries(faulty)) {
    it(what, () => expect(findFault((from, to) => spoil(diffManifests(from, to)))).not.toBeNull());
  }
});
