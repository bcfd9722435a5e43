/** The candidate that a person may have meant by a word, or null where none is near. */
export function nearest(word: string, candidates: readonly string[]): string | null {
  const asked = word.toLowerCase();
  const allowed = Math.max(1, Math.floor(asked.length / 3));
  const [best] = candidates
    .map((name) => ({ name, distance: distanceOf(asked, name.toLowerCase()) }))
    .filter(({ distance }) => distance <= allowed)
    .sort((left, right) => left.distance - right.distance);
  return best?.name ?? null;
}

/** Letters to change, add, leave out or swap with their neighbour; nothing where one is the beginning of the other. */
function distanceOf(from: string, to: string): number {
  if (from.length >= 3 && to.startsWith(from)) return 0;
  let [before, last] = [[] as number[], Array.from({ length: to.length + 1 }, (_, index) => index)];
  for (const [row, letter] of from.split('').entries()) {
    const next = [row + 1];
    for (const [column, other] of to.split('').entries()) {
      const change = (last[column] ?? 0) + (letter === other ? 0 : 1);
      const least = Math.min(change, (last[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1);
      const swapped = letter === to[column - 1] && from[row - 1] === other;
      next.push(swapped ? Math.min(least, (before[column - 1] ?? 0) + 1) : least);
    }
    [before, last] = [last, next];
  }
  return last[to.length] ?? 0;
}
