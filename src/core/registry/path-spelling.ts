import { foldSeparators, withoutHidden } from './path-characters.ts';

/** One path in the forms it may take on its way to a file. */
export interface PathSpelling {
  readonly text: string;
  /** The text between slashes. */
  readonly segments: readonly string[];
  /** Percent-encoding undone, in any nesting: what a source that puts the path in an address might see. */
  readonly decoded: string;
  /** Decoded, unseen characters dropped, look-alikes folded: what a careless program or reader might see. */
  readonly careless: string;
}

/** The forms of a path. Undoing nested encodings takes several passes, so the text should be short. */
export function spellPath(text: string): PathSpelling {
  const decoded = decodePercent(text);
  const careless = foldSeparators(withoutHidden(decoded)).normalize('NFKC');
  return { text, segments: text.split('/'), decoded, careless };
}

/** What the most lenient decoder would make of the percent signs: nested, overlong and `%u` forms included. */
function decodePercent(text: string): string {
  let decoded = text;
  for (;;) {
    const next = decoded
      .replaceAll(/%(?:c0%ae|e0%80%ae|f0%80%80%ae|u002e|uff0e)/gi, '.')
      .replaceAll(/%(?:c0%af|e0%80%af|f0%80%80%af|u002f|u2215|u2044|uff0f)/gi, '/')
      .replaceAll(/%(?:c1%9c|u005c|u2216|uff3c)/gi, '\\')
      .replaceAll(/%(?:c0%80|u0000)/gi, '\0')
      .replaceAll(/%([0-7][0-9a-f])/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
    // Every pass that changes something makes the text shorter, so this ends.
    if (next === decoded) return decoded;
    decoded = next;
  }
}
