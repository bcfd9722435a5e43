/** Characters a key may have (`interface.md` 6). */
const maxKeyCharacters = 63;

/**
 * A key for the agent of a folder that none of `taken` is: its name in lower case, without accents, everything else than
 * letters and digits as one underscore, from the first letter on. A name without such letters becomes `agent`.
 */
export function makeAgentKey(folder: string, taken: ReadonlySet<string>): string {
  const plain = folder
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
    .replace(/^[^a-z]+/, '')
    .replace(/_+$/, '');
  const key = plain === '' ? 'agent' : plain;
  for (let count = 1; ; count += 1) {
    const suffix = count === 1 ? '' : `_${count}`;
    const candidate = `${key.slice(0, maxKeyCharacters - suffix.length)}${suffix}`;
    if (!taken.has(candidate)) return candidate;
  }
}
