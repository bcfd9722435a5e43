import { characterSet, endOfRun, isIn } from './scan.ts';
import { tally, type FileWarningCode, type Sighting } from './sighting.ts';
import { placeIn, type View } from './views.ts';

/** `data:` addresses: a page or picture written into the address itself. "data: the numbers" is prose and is not told. */
export function findDataAddresses(address: View): readonly Sighting<FileWarningCode>[] {
  const seen = tally('data_uri', 'a "data:" address');
  const { text } = address;
  for (let index = text.indexOf('data:'); index !== -1; index = text.indexOf('data:', index + 5)) {
    const inWord = isIn(wordSigns, text, index - 1);
    if (!inWord && isDataAddress(text, index)) seen.see(placeIn(address, index, 5));
  }
  return seen.result();
}

/** Markdown pictures, inline or by reference, whose address leads to another site and carries a query (W51). */
export function findRemoteImages(folded: View): readonly Sighting<FileWarningCode>[] {
  const seen = tally('remote_image', 'a picture address that sends a query to another site');
  const { text } = folded;
  if (!text.includes('![')) return [];
  const definitions = remoteDefinitions(text);
  for (const bracket of imagesOf(text)) {
    const leavesTheSite =
      text[bracket.end + 1] === '('
        ? isRemoteWithQuery(destinationAt(text, bracket.end + 2))
        : definitions.size > 0 && definitions.has(labelOf(text, bracket));
    if (leavesTheSite) seen.see(placeIn(folded, bracket.start - 1, bracket.end + 2 - bracket.start));
  }
  return seen.result();
}

/** True for `https://host/…?…`, also without the scheme, in lower case. */
export function isRemoteWithQuery(address: string): boolean {
  const remote = address.startsWith('https://') || address.startsWith('http://') || address.startsWith('//');
  return remote && address.includes('?');
}

const wordSigns = characterSet(/[a-z0-9_-]/);
const mediaTypes = [
  'text/',
  'image/',
  'application/',
  'audio/',
  'video/',
  'font/',
  'model/',
  'multipart/',
  ';base64,',
];

function isDataAddress(text: string, index: number): boolean {
  if (mediaTypes.some((type) => text.startsWith(type, index + 5))) return true;
  return text[index + 5] === ',' && /["'(<=]/.test(text[index - 1] ?? '');
}

interface Bracket {
  readonly start: number;
  readonly end: number;
}

/** The outermost brackets that close and have a `!` before them; a picture inside a link counts too. */
function* imagesOf(text: string): Generator<Bracket> {
  const open: number[] = [];
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index];
    if (character === '\\') index += 1;
    else if (character === '[') open.push(index);
    else if (character === ']') {
      const start = open.pop();
      if (start !== undefined && text[start - 1] === '!' && text[start - 2] !== '\\')
        yield { start, end: index };
    }
  }
}

/** Longer labels are no references in practice, and the bound keeps the time linear. */
const longestLabel = 200;

/** The label that a picture without an address of its own refers to: the second brackets, or its own text. */
function labelOf(text: string, bracket: Bracket): string {
  if (text[bracket.end + 1] !== '[')
    return text
      .slice(bracket.start + 1, bracket.end)
      .slice(0, longestLabel)
      .trim();
  const after = text.slice(bracket.end + 2, bracket.end + 2 + longestLabel);
  const label = after.slice(0, Math.max(0, after.indexOf(']'))).trim();
  return label === ''
    ? text
        .slice(bracket.start + 1, bracket.end)
        .slice(0, longestLabel)
        .trim()
    : label;
}

/** The labels that a line such as `[logo]: https://host/x?y` ties to a remote address with a query. */
function remoteDefinitions(text: string): ReadonlySet<string> {
  const labels = new Set<string>();
  for (let index = text.indexOf(']:'); index !== -1; index = text.indexOf(']:', index + 2)) {
    if (!isRemoteWithQuery(destinationAt(text, index + 2))) continue;
    const before = text.slice(Math.max(0, index - longestLabel), index);
    labels.add(before.slice(before.lastIndexOf('[') + 1).trim());
  }
  return labels;
}

const beforeAddress = characterSet(/[\s<]/);
const addressSigns = characterSet(/[^\s<>()[\]"]/);

/** The address at `from`; it ends at a sign that no address holds, so no two addresses overlap. */
function destinationAt(text: string, from: number): string {
  const start = endOfRun(text, from, beforeAddress);
  return text.slice(start, endOfRun(text, start, addressSigns));
}
