/** Controls, direction controls, zero-width, tag, filler, private-use and broken characters, line separators. */
const hidden =
  /[\p{Cc}\p{Co}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}\u2800\ufff9-\ufffb]/gu;

/** Scripts in which the joiners are spelling: they choose the form of the letters beside them. */
const joiningScripts =
  'Arab Syrc Nkoo Mong Deva Beng Guru Gujr Orya Taml Telu Knda Mlym Sinh Khmr Mymr Tibt Bali Java';
const joiningLetter = `[[\\p{L}\\p{M}]&&[${joiningScripts.replaceAll(/(\w+) ?/g, '\\p{scx=$1}')}]]`;

/** Each kind of unseen character in the one place where it is correct spelling. */
const atHome = [
  // Two in a row are never spelling: the second has no letter beside it.
  new RegExp(`(?<=${joiningLetter})[\\u200c\\u200d](?=${joiningLetter})`, 'gv'),
  // An emoji's presentation, a keycap, and emoji joined to one picture.
  /(?<=\p{Extended_Pictographic})[\ufe0e\ufe0f]|(?<=[0-9#])\ufe0f(?=\u20e3)/gu,
  /(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f])\u200d(?=\p{Extended_Pictographic})/gu,
];

const rightToLeftLetter =
  /[\p{L}&&[\p{scx=Arab}\p{scx=Hebr}\p{scx=Syrc}\p{scx=Thaa}\p{scx=Nkoo}\p{scx=Adlm}\p{scx=Rohg}]]/v;
/** A mark sets the direction of the dots, digits and Latin letters around it; one is enough. */
const directionMark = /(?<![\u200e\u200f\u061c])[\u200e\u200f\u061c](?![\u200e\u200f\u061c])/g;

const separatorLookAlike = /[\u2044\u2215\u2216\u29f5\u29f8\u29f9\uff0f\uff3c\ufe68]/g;
/** Spaces other than the keyboard's and the ideographic one, which is as wide as the letters beside it. */
const spaceLookAlike = /(?![ \u3000])\p{Zs}/u;

/**
 * Whether a segment holds something that cannot be seen, or that reorders what can: two names would look the same.
 * Joiners and direction marks where a script needs them are spelling, and so are an emoji's own selectors.
 */
export function holdsHidden(segment: string): boolean {
  const spelled = atHome.reduce((text, pattern) => text.replaceAll(pattern, ''), segment);
  const rest = rightToLeftLetter.test(segment) ? spelled.replaceAll(directionMark, '') : spelled;
  return rest.search(hidden) >= 0;
}

/** The text as it looks: every unseen character dropped. */
export function withoutHidden(text: string): string {
  return text.replaceAll(hidden, '');
}

/** Whether the text holds what a reader takes for a slash, a backslash or a space, though it is none. */
export function holdsLookAlike(text: string): boolean {
  return text.search(separatorLookAlike) >= 0 || spaceLookAlike.test(text);
}

/** Characters that look like a slash or a backslash become a slash, and so does the backslash itself. */
export function foldSeparators(text: string): string {
  return text.replaceAll(separatorLookAlike, '/').replaceAll('\\', '/');
}
