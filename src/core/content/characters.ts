/**
 * How a character reads in a view: `dropped` leaves no trace, 1 … 0x7E is that ASCII character, `opaque` is any other
 * visible character, and from `firstExpansion` on the entry names a string of several (the one sign for "MB" is "mb").
 */
export const dropped = 0;
export const opaque = 0x7f;
export const firstExpansion = 0x100;

export interface CharacterTable {
  /** One entry for each code point of planes 0 and 1. */
  readonly entries: Uint16Array;
  readonly expansions: readonly string[];
}

/** Cyrillic, Greek, Armenian, Cherokee and small-capital letters that a reader takes for a Latin one. */
const lookAlikes: Readonly<Record<string, string>> = {
  a: '\u0430\u0410\u03b1\u0391\u0251\u1d00\u13aa',
  b: '\u0412\u0432\u042c\u044c\u03b2\u0392\u0299\u13f4',
  c: '\u0441\u0421\u03f2\u03f9\u1d04\u13df\uabaf',
  d: '\u0501\u0500\u1d05\u13a0',
  e: '\u0435\u0415\u0454\u0404\u0395\u03b5\u1d07\u13ac',
  f: '\u0192\ua730\u03dc',
  h: '\u04bb\u04ba\u043d\u041d\u0397\u0570\u029c\u13bb',
  i: '\u0456\u0406\u0131\u03b9\u0399\u0269\u026a\u13a5\u04cf\u04c0',
  j: '\u0458\u0408\u03f3\u1d0a\u13ab',
  m: '\u043c\u041c\u039c\u1d0d\u13b7',
  o: '\u043e\u041e\u03bf\u039f\u0585\u0555\u1d0f',
  p: '\u0440\u0420\u03c1\u03a1\u1d18\u13e2',
  r: '\u0433\u0280\u13a1',
  s: '\u0455\u0405\ua731\u13da\u0566',
  t: '\u0442\u0422\u03c4\u03a4\u1d1b\u13a2',
  v: '\u0475\u0474\u03bd\u1d20\u13d9',
  '<': '\u02c2\u1438',
};

/**
 * True for what a reader cannot see: default-ignorable code points, interlinear annotation marks, and controls other
 * than tab, line feed and carriage return.
 */
export function isInvisible(codePoint: number): boolean {
  return codePoint < 0x20000
    ? foldTable().entries[codePoint] === dropped
    : codePoint >= 0xe0000 && codePoint <= 0xe0fff;
}

/** True for every kind of space and line end, and for the empty Braille cell, which shows as one. */
export function isBlankCharacter(codePoint: number): boolean {
  if (codePoint < 0x80) return codePoint === 0x20 || (codePoint >= 0x09 && codePoint <= 0x0d);
  return (codePoint >= 0x2000 && codePoint <= 0x200a) || otherBlanks.has(codePoint);
}

const otherBlanks: ReadonlySet<number> = new Set([
  0x85, 0xa0, 0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x2800, 0x3000,
]);

/** The first index from `from` on whose code point `passes` does not accept; the length where it accepts all. */
export function skip(text: string, from: number, passes: (codePoint: number) => boolean): number {
  let index = from;
  while (index < text.length) {
    const codePoint = text.codePointAt(index) ?? 0;
    if (!passes(codePoint)) return index;
    index += codePoint > 0xffff ? 2 : 1;
  }
  return index;
}

/**
 * NFKC, then lower case, invisible characters dropped (`watching.md` 5). Folding each character by itself keeps the
 * time linear: normalizing a whole text sorts its combining marks, which takes quadratic time on a hostile one (T43).
 */
export const foldTable = once(() => buildTable((character) => character.normalize('NFKC').toLowerCase()));

/** The folded reading, with every character that looks like an ASCII letter taken for it and accents ignored. */
export const lookAlikeTable = once(() => {
  const table = foldTable();
  const entries = table.entries.slice();
  for (let codePoint = 0xc0; codePoint < 0x1f00; codePoint += 1) {
    const base = String.fromCodePoint(codePoint).normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
    if (/^[a-z]?$/.test(base)) entries[codePoint] = base === '' ? dropped : base.charCodeAt(0);
  }
  for (const [letter, others] of Object.entries(lookAlikes)) {
    for (const other of others) entries[other.charCodeAt(0)] = letter.charCodeAt(0);
  }
  return { entries, expansions: table.expansions };
});

/** The folded reading without tabs and line breaks, which a browser ignores inside an address. */
export const addressTable = once(() => {
  const entries = foldTable().entries.slice();
  for (const blank of '\t\n\r') entries[blank.charCodeAt(0)] = dropped;
  return { entries, expansions: foldTable().expansions };
});

/** ASCII as it is written, invisible characters dropped: what a pasted key has to be read from. */
export const plainTable = once(() => {
  const entries = foldTable().entries.map((entry, codePoint) =>
    entry === dropped ? dropped : codePoint < 0x80 ? codePoint : opaque,
  );
  return { entries, expansions: [] };
});

function buildTable(fold: (character: string) => string): CharacterTable {
  const entries = new Uint16Array(0x20000).fill(opaque);
  const expansions: string[] = [];
  for (let codePoint = 0; codePoint < entries.length; codePoint += 1) {
    if (foldsToItself(codePoint)) continue;
    const character = String.fromCodePoint(codePoint);
    entries[codePoint] = invisible.test(character) ? dropped : entryFor(fold(character), expansions);
  }
  return { entries, expansions };
}

const invisible = /[[\p{Default_Ignorable_Code_Point}\p{Cc}\uFFF9-\uFFFB]--[\t\n\r]]/v;

/** Ideographs, Hangul, surrogates, private use, ancient scripts: none folds to ASCII, and they are most of the table. */
function foldsToItself(codePoint: number): boolean {
  return (
    (codePoint >= 0x3400 && codePoint < 0xa640) ||
    (codePoint >= 0xac00 && codePoint < 0xfb00) ||
    (codePoint >= 0x12000 && codePoint < 0x1bc00)
  );
}

function entryFor(folded: string, expansions: string[]): number {
  if (folded.length === 1) return folded < '\x7f' ? folded.charCodeAt(0) : opaque;
  // Only the letters and signs of the listed tokens matter: an ellipsis or a spacing accent may stay opaque.
  if (!/[a-z<?=:]/.test(folded)) return opaque;
  const ascii = folded.replace(/[^\x20-\x7e]/g, String.fromCharCode(opaque));
  return firstExpansion + expansions.push(ascii) - 1;
}

function once<Value>(make: () => Value): () => Value {
  let value: Value | undefined;
  return () => (value ??= make());
}
