import { tally, type FileFaultCode, type Sighting } from './sighting.ts';
import { placeIn, type Place, type View } from './views.ts';

/** K-087, K-088: what is refused anywhere in a file, in any letter case, also in code blocks and longer words. */
export const listedTokens = [
  { code: 'php_payload', token: '<?php' },
  { code: 'php_payload', token: '<?=' },
  { code: 'script_markup', token: '<script' },
  { code: 'frame_markup', token: '<iframe' },
  { code: 'object_markup', token: '<object' },
  { code: 'embed_markup', token: '<embed' },
] as const satisfies readonly { code: FileFaultCode; token: string }[];

/** K-088: the last one on the list; it is looked for in the address view alone, which reads more of it. */
export const scriptScheme = 'javascript:';

/** Every listed token in a folded view: as it is written, full-width, split by invisible characters (K-087, K-088). */
export function findListedTokens(text: string, folded: View): readonly Sighting<FileFaultCode>[] {
  return listedTokens.flatMap(({ code, token }) => reportOpenly(text, code, token, placesOf(folded, token)));
}

/**
 * `javascript:` as a browser or Markdown renderer reads it (K-088). A line break inside it counts only at the start of
 * a quoted attribute, the one place where it is live: "Language: Java", next line "Script: run.sh" is honest text.
 */
export function findScriptAddresses(text: string, address: View): readonly Sighting<FileFaultCode>[] {
  const live = placesOf(address, scriptScheme).filter(
    (place) => !hasLineBreak(text, place) || startsAttribute(text, place.start),
  );
  return reportOpenly(text, 'script_uri', scriptScheme, live);
}

/** Tells a token that stands there as it is from one that only a decoder sees, since its author may not know of it. */
function reportOpenly(
  text: string,
  code: FileFaultCode,
  token: string,
  places: Iterable<Place>,
): readonly Sighting<FileFaultCode>[] {
  const open = tally(code, `"${token}"`);
  const disguised = tally(code, `"${token}" in disguise (full-width, invisible or encoded characters)`);
  for (const place of places) {
    const asWritten = text.slice(place.start, place.end).toLowerCase() === token;
    (asWritten ? open : disguised).see(place);
  }
  return [...open.result(), ...disguised.result()];
}

/** Every occurrence of `token` in a view, as places of the original text, in order. */
export function* placesOf(view: View, token: string): Generator<Place> {
  let index = view.text.indexOf(token);
  while (index !== -1) {
    yield placeIn(view, index, token.length);
    index = view.text.indexOf(token, index + token.length);
  }
}

function hasLineBreak(text: string, place: Place): boolean {
  for (let index = place.start; index < place.end; index += 1) {
    if (text[index] === '\n' || text[index] === '\r') return true;
  }
  return false;
}

/** True behind `="` or `='`, blanks allowed on either side of the quote. */
function startsAttribute(text: string, start: number): boolean {
  const quote = lastVisible(text, start);
  return (text[quote] === '"' || text[quote] === "'") && text[lastVisible(text, quote)] === '=';
}

function lastVisible(text: string, before: number): number {
  let index = before - 1;
  while (index >= 0 && text.charCodeAt(index) <= 0x20) index -= 1;
  return index;
}
