/** A visible letter or mark of any script but those that never need an invisible joiner. */
const needsJoiners =
  /[[\p{L}\p{M}]--[\p{scx=Latin}\p{scx=Greek}\p{scx=Cyrillic}\p{scx=Armenian}\p{scx=Georgian}\p{scx=Common}\p{scx=Inherited}]]/v;

/** Scripts written without spaces, where a zero-width space or word joiner rules the line breaks. */
const hasNoSpaces =
  /[\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}\p{scx=Tibetan}\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Bopomofo}\p{scx=Javanese}\p{scx=Balinese}\p{scx=Tai_Tham}]/u;

/**
 * True where an invisible character does what it was made for: joiners in Arabic, Persian, Hebrew and Indic words and
 * between the parts of an emoji, direction marks, soft hyphens in words, spaces of Thai or Japanese, one variation
 * selector behind a sign that has variants (W50). `before` and `after` are the code points beside it, -1 for none.
 */
export function isHonestInvisible(codePoint: number, before: number, after: number): boolean {
  switch (codePoint) {
    case 0x200c:
      return either(needsJoiners, before, after);
    case 0x200d:
      return joinsEmoji(before, after) || either(needsJoiners, before, after);
    case 0x200b:
    case 0x2060:
      return either(hasNoSpaces, before, after);
    case 0xad:
      return both(/\p{L}/u, before, after);
    case 0x200e:
    case 0x200f:
    case 0x61c:
      return !both(/\p{scx=Latin}/u, before, after);
    case 0x34f:
      return (
        either(/[\p{M}--\p{Default_Ignorable_Code_Point}]/v, before, after) ||
        either(needsJoiners, before, after)
      );
    default:
      return isHonestVariation(codePoint, before) || isHonestFiller(codePoint, before, after);
  }
}

function joinsEmoji(before: number, after: number): boolean {
  // Arabic and Indic letters, the usual neighbours of a joiner, are told apart at once.
  if (before < 0x2000) return before === 0xa9 || before === 0xae;
  return (
    matches(/[\p{Extended_Pictographic}\p{Emoji_Modifier}\uFE0F]/u, before) &&
    matches(/\p{Extended_Pictographic}/u, after)
  );
}

/** A selector behind a selector never matches, so every run of them is told: runs can carry hidden bytes. */
function isHonestVariation(codePoint: number, before: number): boolean {
  if (codePoint === 0xfe0e || codePoint === 0xfe0f) return matches(/[\p{Emoji}\p{S}\p{P}\u20E3]/u, before);
  if (codePoint >= 0xfe00 && codePoint <= 0xfe0d)
    return matches(/[\p{S}\p{P}\p{N}]/u, before) || matches(needsJoiners, before);
  return codePoint >= 0xe0100 && codePoint <= 0xe01ef && matches(/\p{scx=Han}/u, before);
}

function isHonestFiller(codePoint: number, before: number, after: number): boolean {
  if (codePoint === 0x115f || codePoint === 0x1160) return either(/\p{scx=Hangul}/u, before, after);
  if (codePoint === 0x17b4 || codePoint === 0x17b5) return either(/\p{scx=Khmer}/u, before, after);
  return codePoint >= 0x180b && codePoint <= 0x180f && either(/\p{scx=Mongolian}/u, before, after);
}

function either(pattern: RegExp, before: number, after: number): boolean {
  return matches(pattern, before) || matches(pattern, after);
}

function both(pattern: RegExp, before: number, after: number): boolean {
  return matches(pattern, before) && matches(pattern, after);
}

function matches(pattern: RegExp, codePoint: number): boolean {
  return codePoint >= 0 && pattern.test(String.fromCodePoint(codePoint));
}
