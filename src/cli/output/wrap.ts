import { displayWidth, printable } from './printable.ts';

/** A command in quotes: broken in two it could not be copied. */
const command = /"(?:npx|npm|chmod) [^"]*"/g;
/** Never in a printable text, so it can stand for a space at which no line ends. */
const joined = '\0';

/** Lines of at most `width` columns, broken at spaces outside of commands; a word that is longer has a line of its own. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  const words = printable(text).replaceAll(command, (whole) => whole.replaceAll(' ', joined));
  for (const part of words.split(' ')) {
    const word = part.replaceAll(joined, ' ');
    const longer = line === '' ? word : `${line} ${word}`;
    if (line !== '' && displayWidth(longer) > width) {
      lines.push(line);
      line = word;
    } else {
      line = longer;
    }
  }
  return [...lines, line];
}
