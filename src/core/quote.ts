/** Everything a person cannot see or that changes how the text beside it is shown. */
const unseen = /[\p{C}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu;

/**
 * The text in double quotes, safe to print: control, direction and other unseen characters as escapes, cut to
 * `maxCharacters` UTF-16 units with an ellipsis. What a message quotes can thus neither hide nor reorder the message.
 */
export function quote(text: string, maxCharacters = 80): string {
  return JSON.stringify(cut(text, maxCharacters)).replaceAll(unseen, escape);
}

function cut(text: string, maxCharacters: number): string {
  if (text.length <= maxCharacters) return text;
  return `${text.slice(0, maxCharacters - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}

function escape(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, '0')}`;
}
