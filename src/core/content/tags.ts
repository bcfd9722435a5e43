import { isRemoteWithQuery } from './links.ts';
import { characterSet, endOfRun, isIn, nextAngle } from './scan.ts';
import { tally, type FileWarningCode, type Sighting } from './sighting.ts';
import { placeIn, type View } from './views.ts';

interface Attribute {
  readonly name: string;
  readonly value: string | null;
  /** Where the attribute stands in the view. */
  readonly start: number;
  readonly end: number;
}

interface Tag {
  readonly name: string;
  readonly attributes: readonly Attribute[];
}

/**
 * Event handlers (`onclick=` inside a tag), and pictures, videos and styles that a page would fetch from elsewhere with
 * a query string, which can carry text out (W51). Prose about `onclick=` is no tag and is not told.
 */
export function findInTags(folded: View): readonly Sighting<FileWarningCode>[] {
  const handlers = tally('event_handler', 'an event handler inside a tag');
  const images = tally('remote_image', 'a picture address that sends a query to another site');
  for (const tag of tagsOf(folded.text)) {
    for (const attribute of tag.attributes) {
      const place = placeIn(folded, attribute.start, attribute.end - attribute.start);
      if (attribute.value !== null && /^on[a-z]{3,}$/.test(attribute.name)) handlers.see(place);
      if (fetchesAtOnce(tag.name, attribute)) images.see(place);
    }
  }
  return [...handlers.result(), ...images.result()];
}

/** Which attributes make a browser fetch something without a click. */
const fetching: ReadonlySet<string> = new Set([
  'img src',
  'img srcset',
  'source src',
  'source srcset',
  'video src',
  'video poster',
  'audio src',
  'input src',
  'image href',
  'image xlink:href',
  'link href',
  'body background',
  'table background',
  'td background',
]);

function fetchesAtOnce(tag: string, attribute: Attribute): boolean {
  const value = attribute.value ?? '';
  if (attribute.name === 'style')
    return value.includes('url(') && isRemoteWithQuery(value.slice(addressIn(value)));
  if (!fetching.has(`${tag} ${attribute.name}`)) return false;
  return value.split(',').some((address) => isRemoteWithQuery(address.trim()));
}

function addressIn(style: string): number {
  const start = style.indexOf('url(') + 4;
  return style[start] === '"' || style[start] === "'" ? start + 1 : start;
}

/**
 * The opening tags of a lower-case text that are closed by `>`, quotes respected. Every character is read at most twice:
 * a quote that is never closed can be met only once for each kind of quote, since none follows it.
 */
function* tagsOf(text: string): Generator<Tag> {
  let index = nextAngle(text, 0);
  while (index !== -1) {
    const nameEnd = endOfRun(text, index + 1, tagName);
    let next = nameEnd;
    // A name right before ">" or "<" has no attributes; neither has a "<" that stands for "less than".
    if (nameEnd > index + 1 && isIn(blank, text, nameEnd)) {
      const { attributes, end } = attributesAt(text, nameEnd);
      if (text[end] === '>') yield { name: text.slice(index + 1, nameEnd), attributes };
      next = end;
    }
    index = nextAngle(text, next);
  }
}

/** The attributes from `from` up to the sign that ends the tag or begins another. */
function attributesAt(text: string, from: number): { attributes: readonly Attribute[]; end: number } {
  const attributes: Attribute[] = [];
  let end = from;
  while (end < text.length && text[end] !== '>' && text[end] !== '<') {
    const attribute = attributeAt(text, end);
    if (attribute.name !== '') attributes.push(attribute);
    end = attribute.end;
  }
  return { attributes, end };
}

/** The attribute at `from`; one with an empty name stands for a blank, a slash or a stray sign. */
function attributeAt(text: string, from: number): Attribute {
  const nameEnd = endOfRun(text, from, attributeName);
  if (nameEnd === from) return { name: '', value: null, start: from, end: from + 1 };
  const name = text.slice(from, nameEnd);
  const equals = endOfRun(text, nameEnd, blank);
  if (text[equals] !== '=') return { name, value: null, start: from, end: nameEnd };
  const valueStart = endOfRun(text, equals + 1, blank);
  const quote = text[valueStart];
  const closing = quote === '"' || quote === "'" ? text.indexOf(quote, valueStart + 1) : -1;
  if (closing !== -1)
    return { name, value: text.slice(valueStart + 1, closing), start: from, end: closing + 1 };
  const end = endOfRun(text, valueStart, unquotedValue);
  return { name, value: text.slice(valueStart, end), start: from, end };
}

const blank = characterSet(/[\s/]/);
const tagName = characterSet(/[a-z0-9:-]/);
const attributeName = characterSet(/[^\s/<>="']/);
const unquotedValue = characterSet(/[^\s<>]/);
