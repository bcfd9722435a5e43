/**
 * The word a misspelling was most likely meant to be, or null: the same letters in another case or joined otherwise
 * (`loadOrder`), or one or two letters inserted, dropped, changed or exchanged (`requierd`).
 */
export function nearestWord(text: string, words: readonly string[]): string | null {
  const letters = bare(text);
  // In a short word two edits make another word.
  const near = (edits: number) =>
    words.find((word) => isWithin(letters, bare(word), Math.min(edits, Math.floor(word.length / 4))));
  return near(0) ?? near(1) ?? near(2) ?? null;
}

function bare(text: string): string {
  return text
    .slice(0, 40)
    .toLowerCase()
    .replaceAll(/[\s_-]/g, '');
}

/** Whether so few edits lead from one text to the other; two neighbouring letters exchanged are one edit. */
function isWithin(from: string, to: string, edits: number): boolean {
  if (from === to) return true;
  if (from !== '' && from[0] === to[0]) return isWithin(from.slice(1), to.slice(1), edits);
  if (edits === 0) return false;
  const exchanged = from[0] === to[1] && from[1] === to[0];
  return (
    isWithin(from.slice(1), to, edits - 1) ||
    isWithin(from, to.slice(1), edits - 1) ||
    isWithin(from.slice(1), to.slice(1), edits - 1) ||
    (exchanged && isWithin(from.slice(2), to.slice(2), edits - 1))
  );
}
