import { diffHunks } from './diff-hunks.ts';

/** A text on one side of a comparison, and what its header calls it. */
export interface DiffSide {
  readonly relativePath: string;
  /** Which version it is from, such as `v3`. */
  readonly label: string;
  readonly text: string;
}

/**
 * What leads from one text to another in the unified format, as `git apply` and `patch -p1` read it; null stands for a file
 * that is not there. Empty where nothing differs. `diffHunks` says what is kept and what is bounded.
 */
export function unifiedDiff(before: DiffSide | null, after: DiffSide | null): string {
  const hunks = diffHunks(before?.text ?? '', after?.text ?? '');
  return hunks === '' ? '' : `--- ${headerOf('a', before)}\n+++ ${headerOf('b', after)}\n${hunks}`;
}

/** A file that only goes by another path now, in the words of Git, which `patch` knows too. */
export function renameDiff(from: string, to: string): string {
  // Unlike Git, `patch` takes a blank in this first line for the end of a name.
  const [before, after] = [`a/${from}`, `b/${to}`].map((name) => nameOf(name, /[\s"\\\p{Cc}]/u));
  return `diff --git ${before} ${after}\nsimilarity index 100%\nrename from ${nameOf(from)}\nrename to ${nameOf(to)}\n`;
}

/** The tab ends the name, so that blanks in it are nothing special. */
function headerOf(prefix: 'a' | 'b', side: DiffSide | null): string {
  return side === null ? '/dev/null' : `${nameOf(`${prefix}/${side.relativePath}`)}\t${side.label}`;
}

/** The name, in quotes and with escapes, as C has them, where it would be taken for something else. */
function nameOf(name: string, special = /["\\\p{Cc}]/u): string {
  if (!special.test(name)) return name;
  const escaped = name.replaceAll(/["\\\p{Cc}]/gu, (character) =>
    Array.from(new TextEncoder().encode(character), (byte) => `\\${byte.toString(8).padStart(3, '0')}`).join(
      '',
    ),
  );
  return `"${escaped}"`;
}
