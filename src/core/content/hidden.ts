import { isInvisible } from './characters.ts';
import { tally, type FileFaultCode, type FileWarningCode, type Sighting } from './sighting.ts';
import { isHonestInvisible } from './zero-width.ts';

const byteOrderMark = 0xfeff;
const blackFlag = 0x1f3f4;
const firstTag = 0xe0000;
const cancelTag = 0xe007f;

/** What a reader of the file cannot see and a model, or a terminal, still reads. */
export interface Hidden {
  readonly faults: readonly Sighting<FileFaultCode>[];
  readonly warnings: readonly Sighting<FileWarningCode>[];
}

/**
 * Refused are tag characters outside flag emoji, bidirectional overrides and embeddings, and isolates left open at the
 * end of a line. Warned about are a byte-order mark, control characters, and zero-width characters and variation
 * selectors where no script and no emoji needs them (W49, W50, T51). One pass over the text.
 */
export function findHidden(text: string): Hidden {
  const tags = tally('hidden_characters', 'text in invisible tag characters');
  const directions = tally('bidi_override', 'an invisible character that reorders the text around it');
  const isolates = tally('bidi_override', 'an invisible direction mark that is not closed on its line');
  const controls = tally('control_characters', 'a control character');
  const zeroWidth = tally('zero_width_text', 'an invisible character');
  // Where the isolates that are still open on this line begin.
  const open: number[] = [];
  const endLine = (): void => {
    const [start] = open.splice(0);
    if (start !== undefined) isolates.see({ start, end: start + 1 });
  };
  let before = -1;
  let index = text.codePointAt(0) === byteOrderMark ? 1 : 0;
  while (index < text.length) {
    const start = index;
    const codePoint = text.codePointAt(index) ?? 0;
    index += codePoint > 0xffff ? 2 : 1;
    const kind = kindOf(codePoint);
    if (kind === 'tag') {
      index = endOfTags(text, index);
      if (before !== blackFlag || !isFlagTail(text, start, index)) tags.see({ start, end: index });
    } else if (kind === 'override') directions.see({ start, end: index });
    else if (kind === 'isolate') open.push(start);
    else if (kind === 'isolate end') open.pop();
    else if (kind === 'line end') endLine();
    else if (kind === 'control') controls.see({ start, end: index });
    else if (kind === 'invisible' && !isHonestInvisible(codePoint, before, text.codePointAt(index) ?? -1)) {
      zeroWidth.see({ start, end: index });
    }
    before = codePoint;
  }
  endLine();
  return {
    faults: [...tags.result(), ...directions.result(), ...isolates.result()],
    warnings: [...findByteOrderMark(text), ...controls.result(), ...zeroWidth.result()],
  };
}

/** W44: one byte-order mark at the start of a file is kept, and told, since a front-matter reader may trip over it. */
function findByteOrderMark(text: string): readonly Sighting<FileWarningCode>[] {
  const present = text.codePointAt(0) === byteOrderMark;
  return present
    ? [{ code: 'utf8_bom', what: 'a byte-order mark', count: 1, places: [{ start: 0, end: 1 }] }]
    : [];
}

/** True for the characters that repeat ASCII invisibly: the classic carrier of hidden orders. */
export function isTag(codePoint: number): boolean {
  return codePoint >= firstTag && codePoint <= cancelTag;
}

function endOfTags(text: string, from: number): number {
  let index = from;
  while (isTag(text.codePointAt(index) ?? 0)) index += 2;
  return index;
}

/**
 * A subdivision flag spells its region behind the black flag: two letters, one to four letters or digits (gbeng, usca),
 * and the cancel tag. Anything longer is text in disguise.
 */
function isFlagTail(text: string, start: number, end: number): boolean {
  // Seven tags at most, each of two units.
  if (end - start > 14) return false;
  let spelled = '';
  for (let index = start; index < end; index += 2) {
    spelled += String.fromCharCode((text.codePointAt(index) ?? 0) - firstTag);
  }
  return /^[a-z]{2}[a-z0-9]{1,4}\x7f$/.test(spelled);
}

type Kind = 'visible' | 'tag' | 'override' | 'isolate' | 'isolate end' | 'line end' | 'control' | 'invisible';

function kindOf(codePoint: number): Kind {
  if (codePoint < 0x20 || (codePoint >= 0x7f && codePoint <= 0x9f)) return kindOfControl(codePoint);
  if (codePoint < 0xad) return 'visible';
  if (codePoint === 0x2028 || codePoint === 0x2029) return 'line end';
  if (codePoint >= 0x202a && codePoint <= 0x202e) return 'override';
  if (codePoint >= 0x2066 && codePoint <= 0x2068) return 'isolate';
  if (codePoint === 0x2069) return 'isolate end';
  if (isTag(codePoint)) return 'tag';
  return isInvisible(codePoint) ? 'invisible' : 'visible';
}

/** NUL is a fault of its own (K-086), so it is no control character here. */
function kindOfControl(codePoint: number): Kind {
  if (codePoint === 0 || codePoint === 0x09) return 'visible';
  return codePoint === 0x0a || codePoint === 0x0d || codePoint === 0x85 ? 'line end' : 'control';
}
