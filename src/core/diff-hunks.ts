import { formatPatch, OMIT_HEADERS, structuredPatch } from 'diff';

/**
 * How much is compared line by line, counted in both texts together. Counts decide, never a clock, so that two texts always
 * give the same answer: the work grows with the square of the edits, which are lines that come or go, and with the
 * characters where long lines begin alike. At these limits it takes some 0.2 s.
 */
export const lineDiffLimits = { characters: 4_194_304, lines: 200_000, edits: 1000 } as const;

/** Lines shown around a difference. */
const context = 3;

/**
 * What leads from one text to another as the hunks of a unified diff, exactly: carriage returns, byte-order marks and a
 * missing line feed at the end survive. Empty for equal texts. Beyond `lineDiffLimits` it is one hunk that removes and adds
 * everything between the first and the last line that differ, which is no less true.
 */
export function diffHunks(before: string, after: string): string {
  if (before === after) return '';
  return compareLines(before, after) ?? replaceBlock(before, after);
}

/** Null beyond the limits. */
function compareLines(before: string, after: string): string | null {
  if (before.length + after.length > lineDiffLimits.characters) return null;
  if (countLines(before) + countLines(after) > lineDiffLimits.lines) return null;
  const options = { context, maxEditLength: lineDiffLimits.edits };
  const patch = structuredPatch('', '', before, after, '', '', options);
  return patch === undefined ? null : formatPatch(patch, OMIT_HEADERS);
}

function replaceBlock(before: string, after: string): string {
  const head = commonHead(before, after);
  const tail = commonTail(before, after, head);
  const leadStart = startOfLastLines(before, head);
  const lead = before.slice(leadStart, head);
  const trail = firstLines(before.slice(before.length - tail));
  const removed = before.slice(head, before.length - tail);
  const added = after.slice(head, after.length - tail);
  const linesBefore = countLines(before.slice(0, leadStart));
  const rangeOf = (changed: string) => rangeText(linesBefore, countLines(lead + changed + trail));
  return [
    `@@ -${rangeOf(removed)} +${rangeOf(added)} @@\n`,
    marked(' ', lead),
    marked('-', removed),
    marked('+', added),
    marked(' ', trail),
  ].join('');
}

const lineFeed = 0x0a;

/** Characters of the whole lines that both texts begin with. */
function commonHead(before: string, after: string): number {
  const most = Math.min(before.length, after.length);
  let wholeLines = 0;
  for (let index = 0; index < most; index += 1) {
    const code = before.charCodeAt(index);
    if (code !== after.charCodeAt(index)) break;
    if (code === lineFeed) wholeLines = index + 1;
  }
  return wholeLines;
}

/** Characters of the whole lines that both texts end with, behind `head`. */
function commonTail(before: string, after: string, head: number): number {
  const most = Math.min(before.length, after.length) - head;
  let wholeLines = 0;
  for (let length = 0; length < most; length += 1) {
    const code = before.charCodeAt(before.length - 1 - length);
    if (code !== after.charCodeAt(after.length - 1 - length)) break;
    // What follows a line feed begins a line in both.
    if (code === lineFeed) wholeLines = length;
  }
  return wholeLines;
}

/** Where the lines begin that are shown before `end`, which begins a line. */
function startOfLastLines(text: string, end: number): number {
  let start = end;
  for (let count = 0; count < context && start > 0; count += 1) {
    start = start === 1 ? 0 : text.lastIndexOf('\n', start - 2) + 1;
  }
  return start;
}

function firstLines(text: string): string {
  let end = 0;
  for (let count = 0; count < context && end < text.length; count += 1) end = endOfLine(text, end);
  return text.slice(0, end);
}

function countLines(text: string): number {
  let count = 0;
  for (let end = 0; end < text.length; count += 1) end = endOfLine(text, end);
  return count;
}

/** Behind the line feed of the line that begins at `start`, or the end where it has none. */
function endOfLine(text: string, start: number): number {
  return text.indexOf('\n', start) + 1 || text.length;
}

/** Lines are counted from 1; a range without any names the line before it. */
function rangeText(linesBefore: number, count: number): string {
  return `${count === 0 ? linesBefore : linesBefore + 1},${count}`;
}

function marked(mark: ' ' | '-' | '+', text: string): string {
  if (text === '') return '';
  const isWhole = text.endsWith('\n');
  const lines = isWhole ? text.slice(0, -1) : text;
  return `${mark}${lines.replaceAll('\n', `\n${mark}`)}\n${isWhole ? '' : '\\ No newline at end of file\n'}`;
}
