import { versionName } from '../../core/package.ts';
import { renameDiff } from '../../core/unified-diff.ts';
import type { FileComparison, VersionDiff } from '../../operations/read-version-diff.ts';
import type { Paint, Style } from './colour.ts';
import { fileJson } from './knowledge-json.ts';
import { titleOf } from './package-line.ts';
import { printable } from './printable.ts';

/** A comparison of versions with the unified diff of each file that is not the same: gone ones, changed ones, new ones. */
export interface WrittenDiff {
  readonly diff: VersionDiff;
  readonly files: readonly WrittenComparison[];
}

type WrittenComparison = FileComparison & { readonly unified: string };

/** Which versions, and then each file that is not the same, in one line. */
export function summaryLines(paint: Paint, { diff, files }: WrittenDiff): string[] {
  const names = `${versionName(diff.from.number)} and ${versionName(diff.to.number)}`;
  const title = (what: string): string => paint('strong', `${titleOf(diff.to)}: ${what}`);
  const lines = [
    ...files.map((file) => `${fileLine(paint, file)}  ${linesText(paint, file.unified)}`),
    ...diff.renamed.map(({ before, after }) =>
      lineOf(paint('place', 'renamed'), `${before.relativePath} -> ${after.relativePath}`),
    ),
    ...(diff.reordered ? [lineOf(paint('waiting', 'reordered'), 'files that both have')] : []),
  ];
  if (lines.length === 0) return [title(`${names} hold the same.`)];
  return [title(`from ${versionName(diff.from.number)} to ${versionName(diff.to.number)}`), ...lines];
}

function fileLine(paint: Paint, { before, after }: WrittenComparison): string {
  if (before === null) return lineOf(paint('added', 'added'), after?.relativePath ?? '');
  if (after === null) return lineOf(paint('removed', 'removed'), before.relativePath);
  return lineOf(paint('waiting', 'changed'), after.relativePath);
}

/** Indented, so that no program takes it for a part of the patch below. */
function lineOf(word: string, what: string): string {
  return `  ${word} ${printable(what)}`;
}

/** `+3 -1`: how many lines come and go. */
function linesText(paint: Paint, unified: string): string {
  const body = bodyOf(unified);
  const count = (mark: string): number => body.filter((line) => line.startsWith(mark)).length;
  const parts: readonly (readonly [Style, string, number])[] = [
    ['added', '+', count('+')],
    ['removed', '-', count('-')],
  ];
  return parts
    .flatMap(([style, mark, lines]) => (lines === 0 ? [] : [paint(style, `${mark}${lines}`)]))
    .join(' ');
}

/** The patch for another program, exactly: `git apply` and `patch -p1` make the files of the one version of the other's. */
export function patchText({ diff, files }: WrittenDiff): string {
  const renames = diff.renamed.map(({ before, after }) =>
    renameDiff(before.relativePath, after.relativePath),
  );
  // Renames have no text of their own, so Git would take the next one for theirs.
  return [...files.map(({ unified }) => unified), ...renames].join('');
}

/** The patch for a person: what cannot be seen, or would be obeyed by a terminal, is spelled out; tabs stay. */
export function patchLines(paint: Paint, { files }: WrittenDiff): string[] {
  return files.flatMap(({ unified }) => [
    ...headOf(unified).map((line) => paint('strong', visible(line))),
    ...bodyOf(unified).map((line) => paintLine(paint, visible(line))),
  ]);
}

function paintLine(paint: Paint, line: string): string {
  const style = styles[line.charAt(0)];
  return style === undefined ? line : paint(style, line);
}

const styles: Readonly<Record<string, Style>> = { '@': 'place', '+': 'added', '-': 'removed', '\\': 'quiet' };

const headLines = 2;

function headOf(unified: string): string[] {
  return unified.split('\n', headLines);
}

/** The lines below the names, whose first characters say what they are. */
function bodyOf(unified: string): string[] {
  return unified.slice(0, -1).split('\n').slice(headLines);
}

function visible(line: string): string {
  return line.split('\t').map(printable).join('\t');
}

/** The comparison as machines read it; the versions by name. */
export function diffJson({ diff, files }: WrittenDiff) {
  const { from, to, added, removed, renamed, reordered } = diff;
  return {
    agentKey: to.agentKey,
    environment: to.environment,
    from: versionName(from.number),
    to: versionName(to.number),
    added: added.map(fileJson),
    removed: removed.map(fileJson),
    changed: files.flatMap(({ before, after, unified }) =>
      before && after
        ? [{ relativePath: after.relativePath, before: fileJson(before), after: fileJson(after), unified }]
        : [],
    ),
    renamed: renamed.map(({ before, after }) => ({
      from: before.relativePath,
      to: after.relativePath,
      checksum: after.checksum,
    })),
    reordered,
  };
}
