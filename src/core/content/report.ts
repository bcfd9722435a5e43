import { isBlankCharacter, isInvisible } from './characters.ts';
import type { Finding } from '../finding.ts';
import type { RelativePath } from '../package.ts';
import type { Sighting, SightingCode } from './sighting.ts';
import type { Place } from './views.ts';
import { wording } from './wording.ts';

/** Turns sightings in one file into findings: a line number, a masked excerpt, a reason and a remedy. */
export interface Report {
  readonly findings: <Code extends SightingCode>(
    sightings: readonly Sighting<Code>[],
  ) => readonly Finding<Code>[];
}

/**
 * A report about `text`. No message shows any character of a place in `secrets`, whatever else it is about; an excerpt
 * has at most 40 characters of the text, with everything invisible written as U+XXXX.
 */
export function reportOn(relativePath: RelativePath, text: string, secrets: readonly Place[]): Report {
  let starts: Int32Array | undefined;
  const lineOf = (index: number): number => lineAt((starts ??= lineStarts(text)), index);
  return {
    findings: (sightings) =>
      sightings.map((sighting) => {
        const lines = sighting.places.map((place) => lineOf(place.start));
        const [place] = sighting.places;
        const excerpt = place === undefined ? null : excerptAround(text, place, secrets);
        const message = messageOf(sighting, lines, excerpt);
        return { code: sighting.code, relativePath, line: lines[0] ?? null, message };
      }),
  };
}

function messageOf(sighting: Sighting, lines: readonly number[], excerpt: string | null): string {
  const { why, remedy } = wording[sighting.code];
  const where = lines[0] === undefined ? '' : `Line ${lines[0]}: `;
  const beginning = excerpt === null ? sighting.what : `${sighting.what} in \u201c${excerpt}\u201d`;
  const found = `${where}${lines[0] === undefined ? capitalized(beginning) : beginning}.`;
  return [found, why, remedy, ...repetition(sighting.count, lines)].join(' ');
}

function repetition(count: number, lines: readonly number[]): readonly string[] {
  if (count < 2) return [];
  const others = [...new Set(lines)];
  const more = count > lines.length ? ' and further on' : '';
  return [`Found ${count} times, on ${others.length === 1 ? 'line' : 'lines'} ${others.join(', ')}${more}.`];
}

const leadLength = 10;
const excerptLength = 40;
/** In characters of the message: an escape takes up to nine of them. */
const longestExcerpt = 120;
/** How far an excerpt looks in UTF-16 units: enough for its characters, and a bound on what is searched for secrets. */
const reach = 100;

/** Up to 40 characters of the line around a place, secrets and invisible characters replaced. */
function excerptAround(text: string, place: Place, secrets: readonly Place[]): string {
  const start = excerptStart(text, place.start);
  const nearby = secrets.filter((secret) => secret.end > start && secret.start < start + reach);
  const limit = Math.min(text.length, start + reach);
  let excerpt = start > 0 && !isLineEnd(text[start - 1]) ? '\u2026' : '';
  let index = start;
  for (let shown = 0; index < limit && shown < excerptLength && excerpt.length < longestExcerpt; shown += 1) {
    const at = index;
    const secret = nearby.find((hidden) => hidden.start <= at && at < hidden.end);
    if (secret === undefined && isLineEnd(text[at]) && at >= place.end) return excerpt;
    const codePoint = text.codePointAt(at) ?? 0;
    excerpt += secret === undefined ? shownAs(codePoint) : '[secret]';
    index = secret?.end ?? at + (codePoint > 0xffff ? 2 : 1);
  }
  return index < text.length && !isLineEnd(text[index]) ? `${excerpt}\u2026` : excerpt;
}

/** Where the excerpt begins: a few characters before the place, on the same line, never inside a surrogate pair. */
function excerptStart(text: string, index: number): number {
  let start = index;
  while (start > 0 && index - start < leadLength && !isLineEnd(text[start - 1])) start -= 1;
  const unit = text.charCodeAt(start);
  return unit >= 0xdc00 && unit <= 0xdfff && start < index ? start + 1 : start;
}

function shownAs(codePoint: number): string {
  const plain =
    codePoint === 0x20 || !(isInvisible(codePoint) || isBlankCharacter(codePoint) || isSurrogate(codePoint));
  if (plain) return String.fromCodePoint(codePoint);
  return `[U+${codePoint.toString(16).toUpperCase().padStart(4, '0')}]`;
}

function isSurrogate(codePoint: number): boolean {
  return codePoint >= 0xd800 && codePoint <= 0xdfff;
}

function isLineEnd(character: string | undefined): boolean {
  return character === '\n' || character === '\r';
}

/** The index at which each line begins; a line ends with LF, CR LF or a CR alone. */
function lineStarts(text: string): Int32Array {
  const starts = new Int32Array(text.length + 1);
  let count = 1;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit === 0x0a || (unit === 0x0d && text.charCodeAt(index + 1) !== 0x0a)) {
      starts[count] = index + 1;
      count += 1;
    }
  }
  return starts.subarray(0, count);
}

function lineAt(starts: Int32Array, index: number): number {
  let low = 0;
  let high = starts.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((starts[middle] ?? 0) <= index) low = middle + 1;
    else high = middle;
  }
  return low;
}

function capitalized(sentence: string): string {
  return sentence.charAt(0).toUpperCase() + sentence.slice(1);
}
