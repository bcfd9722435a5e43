/** One decoded character reference: the code point it stands for and the index behind it. */
export interface Entity {
  readonly codePoint: number;
  readonly end: number;
}

/** Named references that can spell or split an address scheme. Names are case-sensitive and end in a semicolon. */
const named: ReadonlyMap<string, number> = new Map([
  ['colon', 0x3a],
  ['Tab', 0x09],
  ['NewLine', 0x0a],
  ['nbsp', 0xa0],
  ['NonBreakingSpace', 0xa0],
  ['shy', 0xad],
  ['zwj', 0x200d],
  ['zwnj', 0x200c],
  ['lrm', 0x200e],
  ['rlm', 0x200f],
  ['ZeroWidthSpace', 0x200b],
  ['NegativeVeryThinSpace', 0x200b],
  ['NegativeThinSpace', 0x200b],
  ['NegativeMediumSpace', 0x200b],
  ['NegativeThickSpace', 0x200b],
  ['NoBreak', 0x2060],
  ['ApplyFunction', 0x2061],
  ['af', 0x2061],
  ['InvisibleTimes', 0x2062],
  ['it', 0x2062],
  ['InvisibleComma', 0x2063],
  ['ic', 0x2063],
  ['lpar', 0x28],
  ['rpar', 0x29],
  ['quot', 0x22],
  ['apos', 0x27],
  ['equals', 0x3d],
  ['sol', 0x2f],
  ['semi', 0x3b],
  ['comma', 0x2c],
  ['bsol', 0x5c],
  ['num', 0x23],
  ['quest', 0x3f],
  ['amp', 0x26],
]);

const longestName = 24;
const largestCodePoint = 0x10ffff;
const replacement = 0xfffd;

/**
 * The character reference that starts with the `&` at `start`, read as a browser reads it: decimal and hexadecimal with
 * any number of leading zeros and with or without semicolon, and the names that matter for addresses. Null for anything
 * else. One round only: `&amp;#106;` is shown as text, so it is text.
 */
export function entityAt(text: string, start: number): Entity | null {
  if (text[start + 1] !== '#') return namedAt(text, start + 1);
  const hexadecimal = text[start + 2] === 'x' || text[start + 2] === 'X';
  return numericAt(text, start + (hexadecimal ? 3 : 2), hexadecimal ? 16 : 10);
}

function numericAt(text: string, start: number, base: 10 | 16): Entity | null {
  let codePoint = 0;
  let end = start;
  for (;;) {
    const digit = digitOf(text.charCodeAt(end));
    if (digit >= base) break;
    // Clamped, so that a megabyte of digits stays a small integer.
    codePoint = Math.min(codePoint * base + digit, largestCodePoint + 1);
    end += 1;
  }
  if (end === start) return null;
  const known = codePoint > 0 && codePoint <= largestCodePoint;
  return { codePoint: known ? codePoint : replacement, end: text[end] === ';' ? end + 1 : end };
}

function digitOf(unit: number): number {
  if (unit >= 0x30 && unit <= 0x39) return unit - 0x30;
  const letter = unit | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : Number.POSITIVE_INFINITY;
}

function namedAt(text: string, start: number): Entity | null {
  let end = start;
  while (end - start <= longestName && isLetter(text.charCodeAt(end))) end += 1;
  if (text[end] !== ';') return null;
  const codePoint = named.get(text.slice(start, end));
  return codePoint === undefined ? null : { codePoint, end: end + 1 };
}

function isLetter(unit: number): boolean {
  const letter = unit | 0x20;
  return letter >= 0x61 && letter <= 0x7a;
}
