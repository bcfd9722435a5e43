import { listedTokens, placesOf, scriptScheme } from './tokens.ts';
import { characterSet, endOfRun, isIn, nextAngle } from './scan.ts';
import { tally, type FileWarningCode, type Sighting } from './sighting.ts';
import { indexIn, placeIn, type View } from './views.ts';

/**
 * What looks like a listed tag and is none to a browser: a blank behind the `<` (`< script`), or a closing tag alone.
 * Told, not refused, since it is shown as text (`watching.md` 5).
 */
export function findSuspiciousMarkup(folded: View): readonly Sighting<FileWarningCode>[] {
  const seen = tally('suspicious_markup', 'something close to a refused tag');
  const { text } = folded;
  for (let index = nextAngle(text, 0); index !== -1; index = nextAngle(text, index + 1)) {
    const slash = endOfRun(text, index + 1, blanks);
    const start = text[slash] === '/' ? endOfRun(text, slash + 1, blanks) : slash;
    if (start === index + 1 || !isIn(firstSigns, text, start)) continue;
    const name = listedNames.find(
      (listed) => text.startsWith(listed, start) && endsThere(text, start, listed),
    );
    if (name !== undefined) seen.see(placeIn(folded, index, start + name.length - index));
  }
  return seen.result();
}

/**
 * Listed tokens spelled with letters that only look right, and tag names that mix Latin letters with another alphabet's.
 * No browser runs them; somebody tried, or a keyboard was in the wrong layout.
 */
export function findConfusableMarkup(
  text: string,
  folded: View,
  lookAlike: View,
): readonly Sighting<FileWarningCode>[] {
  const seen = tally('confusable_markup', 'a tag name in letters that only look like Latin ones');
  for (const token of [...listedTokens.map((listed) => listed.token), scriptScheme]) {
    for (const place of placesOf(lookAlike, token)) {
      if (!folded.text.startsWith(token, indexIn(folded, place.start))) seen.see(place);
    }
  }
  const mixed = tally('confusable_markup', 'a tag name that mixes two alphabets');
  for (let index = nextAngle(text, 0); index !== -1; index = nextAngle(text, index + 1)) {
    const end = endOfName(text, index + 1);
    if (mixesAlphabets(text, index + 1, end)) mixed.see({ start: index, end });
  }
  return seen.result().length > 0 ? seen.result() : mixed.result();
}

/** True where a letter occurs that a reader may take for another alphabet's; most files need no look-alike view. */
export function mayBeConfused(text: string): boolean {
  return /[\u00c0-\u058f\u10a0-\u10ff\u13a0-\u1438\u1c80-\u1fff\u2c60-\u2dff\ua640-\ua7ff\uab30-\uabbf]/.test(
    text,
  );
}

const listedNames = listedTokens.map(({ token }) => token.slice(1));

function endsThere(text: string, start: number, name: string): boolean {
  return !isIn(letters, name, name.length - 1) || !isIn(wordSigns, text, start + name.length);
}

const blanks = characterSet(/[ \t\r\n]/);
const firstSigns = characterSet(/[sioe?]/);
const letters = characterSet(/[a-z]/);
const wordSigns = characterSet(/[a-z0-9]/);

const longestName = 40;

function endOfName(text: string, from: number): number {
  let index = from;
  while (index < text.length && index - from < longestName && isNameUnit(text.charCodeAt(index))) index += 1;
  return index;
}

/** Under three letters it is more likely a comparison (0<αx) than a tag. */
function mixesAlphabets(text: string, start: number, end: number): boolean {
  if (end - start < 3) return false;
  let latin = false;
  let other = false;
  for (let index = start; index < end; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit < 0x250) latin = true;
    else other = true;
  }
  return latin && other;
}

/** A letter of a Latin, Greek, Cyrillic, Armenian, Georgian, Cherokee or Coptic alphabet. */
function isNameUnit(unit: number): boolean {
  const ascii = unit | 0x20;
  if (unit < 0x80) return ascii >= 0x61 && ascii <= 0x7a;
  return (
    (unit >= 0xc0 && unit <= 0x24f && unit !== 0xd7 && unit !== 0xf7) ||
    (unit >= 0x370 && unit <= 0x587 && unit !== 0x37e && unit !== 0x387) ||
    (unit >= 0x10a0 && unit <= 0x10ff) ||
    (unit >= 0x13a0 && unit <= 0x13fd) ||
    (unit >= 0x1f00 && unit <= 0x1fff) ||
    (unit >= 0x2c80 && unit <= 0x2cff) ||
    (unit >= 0xab70 && unit <= 0xabbf)
  );
}
