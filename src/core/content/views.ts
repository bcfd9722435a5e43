import {
  addressTable,
  dropped,
  firstExpansion,
  foldTable,
  lookAlikeTable,
  opaque,
  plainTable,
  type CharacterTable,
} from './characters.ts';
import { entityAt } from './entities.ts';
import { characterSet, isIn } from './scan.ts';

/** A text as somebody other than its author may read it. */
export interface View {
  readonly text: string;
  /** For each character of `text`, the index in the original text that it comes from, ascending; null for the same. */
  readonly at: Int32Array | null;
}

/** A stretch of the original text, in UTF-16 units; `end` is behind its last one. */
export interface Place {
  readonly start: number;
  readonly end: number;
}

/** NFKC, lower case, invisible characters removed: checked for every listed token. */
export function foldedView(text: string): View {
  return isPlain(text)
    ? { text: text.toLowerCase(), at: null }
    : readThrough(text, foldTable(), 'as written');
}

/** The folded view with look-alike letters read as Latin ones: checked for disguised tag names. */
export function lookAlikeView(text: string): View {
  return readThrough(text, lookAlikeTable(), 'as written');
}

/** What an address view is searched for; one of plain text without any of them is left empty, which saves a reading. */
export const addressSchemes = ['javascript:', 'data:'] as const;

/**
 * What a browser or a Markdown renderer makes of an address: entities decoded, backslash escapes undone, tabs and line
 * breaks removed. Never checked for tags, since `&lt;script&gt;` is their safe spelling.
 */
export function addressView(text: string): View {
  if (isPlain(text) && !/[&\\]/.test(text)) {
    const joined = text.toLowerCase().replace(/[\t\n\r]+/g, '');
    if (!addressSchemes.some((scheme) => joined.includes(scheme))) return { text: '', at: null };
  }
  return readThrough(text, addressTable(), 'decoded');
}

/** The text as pasted into an editor that escapes `_` or adds invisible characters: letter case kept. */
export function plainView(text: string): View {
  const needsReading = /[\\\u00ad\u200b-\u200f\u2060-\u2064\ufeff]/.test(text);
  return needsReading ? readThrough(text, plainTable(), 'unescaped') : { text, at: null };
}

/** Where `length` characters of a view from `index` on stand in the original text. */
export function placeIn(view: View, index: number, length: number): Place {
  return { start: originalIndex(view, index), end: originalIndex(view, index + length - 1) + 1 };
}

/** The index in a view of the first character that comes from `original` or later. */
export function indexIn(view: View, original: number): number {
  let low = 0;
  let high = view.text.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (originalIndex(view, middle) < original) low = middle + 1;
    else high = middle;
  }
  return low;
}

function originalIndex(view: View, index: number): number {
  return view.at === null ? index : (view.at[index] ?? 0);
}

/**
 * True where every character is printable ASCII, a tab or a line end: nothing can be hidden or disguised, and the
 * folded view is the text in lower case.
 */
export function isPlain(text: string): boolean {
  return !/[^\t\n\r\x20-\x7e]/.test(text);
}

type Reading = 'as written' | 'unescaped' | 'decoded';

function readThrough(text: string, table: CharacterTable, reading: Reading): View {
  let codes = new Uint8Array(text.length);
  let at = new Int32Array(text.length);
  let length = 0;
  let index = 0;
  while (index < text.length) {
    const start = index;
    const unit = text.charCodeAt(index);
    index += 1;
    let codePoint = unit;
    if (unit >= 0xd800) {
      codePoint = text.codePointAt(start) ?? 0;
      if (codePoint > 0xffff) index += 1;
    } else if (unit === backslash && reading !== 'as written' && isIn(punctuation, text, index)) {
      continue;
    } else if (unit === ampersand && reading === 'decoded') {
      const entity = entityAt(text, start);
      if (entity !== null) ({ codePoint, end: index } = entity);
    }
    const entry = entryOf(table, codePoint);
    if (entry < firstExpansion) {
      codes[length] = entry;
      at[length] = start;
      if (entry !== dropped) length += 1;
      continue;
    }
    const expansion = table.expansions[entry - firstExpansion] ?? '';
    // What is left of the text needs one place for each unit, unless it expands too.
    const needed = length + expansion.length + (text.length - index);
    if (needed > codes.length) {
      codes = grown(codes, new Uint8Array(2 * needed));
      at = grown(at, new Int32Array(2 * needed));
    }
    for (let offset = 0; offset < expansion.length; offset += 1, length += 1) {
      codes[length] = expansion.charCodeAt(offset);
      at[length] = start;
    }
  }
  return { text: new TextDecoder('latin1').decode(codes.subarray(0, length)), at: at.subarray(0, length) };
}

function grown<Numbers extends Uint8Array | Int32Array>(old: Numbers, larger: Numbers): Numbers {
  larger.set(old);
  return larger;
}

const backslash = 0x5c;
const ampersand = 0x26;
/** CommonMark: a backslash before ASCII punctuation is not shown. */
const punctuation = characterSet(/[!-/:-@[-`{-~]/);

function entryOf(table: CharacterTable, codePoint: number): number {
  if (codePoint < table.entries.length) return table.entries[codePoint] ?? opaque;
  return codePoint >= 0xe0000 && codePoint <= 0xe0fff ? dropped : opaque;
}
