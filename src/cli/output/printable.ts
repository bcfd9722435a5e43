import stringWidth from 'string-width';

/** Controls, direction controls and everything else that cannot be seen. */
const unseen = /[\p{C}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}]/gu;

/**
 * The text as one line that is safe on a terminal: what a file name or a reason holds can neither move the cursor nor
 * reorder or hide what stands beside it (T54).
 */
export function printable(text: string): string {
  return text.replaceAll(unseen, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return code > 0xffff ? `\\u{${code.toString(16)}}` : hex(code);
  });
}

/** The value as JSON that is as safe: the same document to every reader, its unseen characters as escapes. */
export function printableJson(value: unknown): string {
  const text = JSON.stringify(value, null, 2);
  return text.replaceAll(unseen, (character) => {
    if (character === '\n') return character; // Only between members: inside a string it is escaped already.
    return Array.from({ length: character.length }, (_, index) => hex(character.charCodeAt(index))).join('');
  });
}

/** Columns that a printable text takes on a terminal; East Asian letters and pictures take two. */
export function displayWidth(text: string): number {
  return stringWidth(text);
}

function hex(code: number): string {
  return `\\u${code.toString(16).padStart(4, '0')}`;
}
