import type { RegistryFaultCode } from '../finding.ts';
import { holdsHidden, holdsLookAlike, withoutHidden } from './path-characters.ts';
import { type PathSpelling, spellPath } from './path-spelling.ts';

/** UTF-16 units of a whole path: where OneDrive and SharePoint stop. */
export const maxPathCharacters = 400;
/** UTF-8 bytes of one segment: where Linux file systems stop. */
export const maxSegmentBytes = 255;

/** The words for what is wrong with a path. */
export type PathFaultCode = Extract<
  RegistryFaultCode,
  | 'empty_path'
  | 'path_traversal'
  | 'absolute_path'
  | 'wildcard_path'
  | 'backslash_path'
  | 'non_canonical_path'
  | 'bad_path_character'
  | 'reserved_name'
  | 'path_too_long'
>;

/** Why a text is no path below the root: the stable word, and the end of a sentence that begins "this path". */
export interface PathFault {
  readonly code: PathFaultCode;
  readonly reason: string;
}

/**
 * Null for a text that names one file below the root, the same file on every platform and at every source; otherwise
 * the first fault. A text that passes may be branded `RelativePath`.
 *
 * It is `/`-separated, of at most 400 characters and 255 bytes a segment, without a way out in any spelling, and
 * without what Windows, OneDrive or a reader's eye would take for another name. Nothing is mended: no trimming, no
 * decoding, no Unicode normalisation (K-013, K-016…K-018, K-021).
 */
export function checkRelativePath(text: string): PathFault | null {
  if (text.trim() === '') return { code: 'empty_path', reason: 'is empty' };
  // Before the other rules, since undoing nested encodings takes several passes over the text.
  if (text.length > maxPathCharacters) return tooLong(`has more than ${maxPathCharacters} characters`);
  const spelling = spellPath(text);
  const broken = rules.find((rule) => rule.breaks(spelling));
  return broken === undefined ? null : { code: broken.code, reason: broken.reason };
}

/**
 * The form under which two paths count as the same file: NFC and full case folding, since macOS and Windows open one
 * file for both spellings (K-014). For comparing only, never for opening.
 */
export function foldPath(text: string): string {
  // The upper case in between folds what lower case alone keeps apart, such as ß and ss.
  return text.normalize('NFC').toLowerCase().toUpperCase().toLowerCase().normalize('NFC');
}

interface Rule extends PathFault {
  readonly breaks: (spelling: PathSpelling) => boolean;
}

const anySegment =
  (matches: (segment: string) => boolean): Rule['breaks'] =>
  ({ segments }) =>
    segments.some(matches);

/** In order of weight, so that the word for `..\*` is the way out and not the star. */
const rules: readonly Rule[] = [
  {
    // K-017: nothing that names a place by itself.
    code: 'absolute_path',
    reason: 'starts at a root, a drive, a share or a home folder',
    breaks: ({ text, decoded }) => isAbsolute(text) || isAbsolute(decoded),
  },
  {
    // K-018: no way up, whatever the spelling.
    code: 'path_traversal',
    reason: 'has a segment that leads up ("..")',
    breaks: ({ careless }) => careless.split('/').some(leadsUp),
  },
  {
    // K-016: every file is named, none is matched.
    code: 'wildcard_path',
    reason: 'holds a wildcard ("*" or "?")',
    breaks: ({ text }) => /[*?]/.test(text),
  },
  {
    code: 'backslash_path',
    reason: 'holds a backslash, where only "/" separates segments',
    breaks: ({ text }) => text.includes('\\'),
  },
  {
    code: 'non_canonical_path',
    reason: 'has an empty or "." segment, which makes it a second spelling of another path',
    breaks: ({ text, decoded }) => [text, decoded].some((form) => form.split('/').some(isIdle)),
  },
  {
    code: 'bad_path_character',
    reason: 'holds one of " : < > |, which Windows and OneDrive refuse',
    breaks: ({ text }) => /[":<>|]/.test(text),
  },
  {
    code: 'bad_path_character',
    reason: 'holds a percent-encoded separator or control character',
    breaks: ({ text, decoded }) => countSpecial(decoded) > countSpecial(text),
  },
  {
    code: 'bad_path_character',
    reason: 'holds a control character or one that cannot be seen',
    breaks: anySegment(holdsHidden),
  },
  {
    code: 'bad_path_character',
    reason: 'holds a character that only looks like a slash, a backslash or a space',
    breaks: ({ text }) => holdsLookAlike(text),
  },
  {
    code: 'bad_path_character',
    reason: 'has a segment that starts or ends with a space',
    breaks: anySegment((segment) => /^\s|\s$/.test(withoutHidden(segment))),
  },
  {
    code: 'bad_path_character',
    reason: 'has a segment that ends with a dot, which Windows drops',
    breaks: anySegment((segment) => withoutHidden(segment).endsWith('.')),
  },
  {
    code: 'bad_path_character',
    reason: 'has a segment that starts with a combining mark, which would join the slash',
    breaks: anySegment((segment) => /^\p{M}/u.test(withoutHidden(segment))),
  },
  {
    code: 'reserved_name',
    reason: 'has a segment that Windows, OneDrive or sha256sum keeps for itself',
    breaks: anySegment(isReserved),
  },
  {
    ...tooLong(`has a segment of more than ${maxSegmentBytes} bytes in UTF-8`),
    breaks: anySegment((segment) => new TextEncoder().encode(segment).length > maxSegmentBytes),
  },
];

function tooLong(reason: string): PathFault {
  return { code: 'path_too_long', reason };
}

function isAbsolute(text: string): boolean {
  return /^\s*(?:[/\\]|[a-z]:|file:|[a-z][a-z0-9+.-]*:\/\/|~(?:[/\\]|$))/i.test(text);
}

/** Windows drops blanks at the end of a segment, servers and addresses what follows `;` or `#`: all that leads up. */
function leadsUp(segment: string): boolean {
  const bare = segment.replace(/[;#].*$/s, '').replaceAll(/\s/g, '');
  return bare.length >= 2 && /^\.+$/.test(bare);
}

function isIdle(segment: string): boolean {
  return segment.trim() === '' || segment.trim() === '.';
}

function countSpecial(text: string): number {
  return text.match(/[/\\\p{Cc}]/gu)?.length ?? 0;
}

function isReserved(segment: string): boolean {
  const name = segment.toLowerCase();
  // Windows opens the device whatever follows the first dot.
  const stem = name.replace(/\..*$/s, '').trimEnd();
  if (/^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³])$/.test(stem)) return true;
  // `sha256sum -c` takes a lone "-" for its standard input.
  if (name === '.lock' || name === 'desktop.ini' || name === '-') return true;
  return name.startsWith('~$') || name.includes('_vti_');
}
