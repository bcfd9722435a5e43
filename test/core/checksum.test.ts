import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bundleChecksum, type BundleLine, bundleText, sha256 } from '../../src/core/checksum.ts';
import type { RelativePath } from '../../src/core/package.ts';
import { checkRelativePath } from '../../src/core/registry/relative-path.ts';

const line = (content: string, path: string): BundleLine => ({
  checksum: sha256(content),
  relativePath: path as RelativePath,
});

/** Reads a bundle's text back the way `sha256sum -c` does: by lines, the path after the two spaces. */
function decode(text: string): BundleLine[] {
  return text
    .split('\n')
    .slice(0, -1)
    .map((row) => ({
      checksum: row.slice(0, 64) as BundleLine['checksum'],
      relativePath: row.slice(66) as RelativePath,
    }));
}

const piece = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom('a', 'b', '/', ' ', '  ', '.md', '-', '*', '\\', '\n', 'é', 'قواعد'),
  },
  { weight: 1, arbitrary: fc.string({ unit: 'grapheme', maxLength: 4 }) },
);
const path = fc
  .array(piece, { minLength: 1, maxLength: 8 })
  .map((pieces) => pieces.join(''))
  .filter((text) => checkRelativePath(text) === null);
const bundle = fc.array(fc.record({ content: fc.string({ maxLength: 4 }), path }), { maxLength: 6 });

describe('the bundle checksum', () => {
  it('is the SHA-256 of the lines sha256sum prints, in load order (G-08)', () => {
    const files = [line('one\n', 'b.md'), line('two\n', 'A folder/a.md')];
    const text =
      '2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806  b.md\n' +
      '27dd8ed44a83ff94d557f9fd0412ed5a8cbca69ea04922d88c01184a07300a5a  A folder/a.md\n';
    expect(bundleText(files)).toBe(text);
    expect(bundleChecksum(files)).toBe(createHash('sha256').update(text).digest('hex'));
  });

  it('changes with the order of the files', () => {
    const files = [line('one', 'a.md'), line('two', 'b.md')];
    expect(bundleChecksum(files)).not.toBe(bundleChecksum(files.toReversed()));
  });

  it('is taken of a text that says which files it is about in one way only', () => {
    fc.assert(
      fc.property(bundle, (listed) => {
        const files = listed.map(({ content, path }) => line(content, path));
        expect(decode(bundleText(files))).toEqual(files);
      }),
      { numRuns: 10_000 },
    );
  });

  it('would not be, were a line feed allowed in a path', () => {
    const two = [line('one', 'a.md'), line('two', 'b.md')];
    const forged = [line('one', `a.md\n${sha256('two')}  b.md`)];
    expect(bundleText(forged)).toBe(bundleText(two));
    expect(decode(bundleText(forged))).not.toEqual(forged);
    expect(checkRelativePath(forged[0]!.relativePath)?.code).toBe('bad_path_character');
  });
});
