/** Words for what belongs to all agents, in the languages such folders are named in. */
const sharedWord =
  /(?<![\p{L}\p{N}])(?:shared|common|gemeinsam|partagé|commun|compartido|común|مشترك|مشتركة)(?![\p{L}\p{N}])/iu;

/** Names of files that are read first, after a number that only sorts. */
const firstName = /^[\d\s._-]*(?:readme|overview|index|introduction|intro|about)(?![\p{L}\p{N}])/iu;

/** Whether a folder's name says that it is for everybody. */
export function isShared(folder: string): boolean {
  return sharedWord.test(folder.normalize('NFC'));
}

/** Numbers in names by their value, whatever the letter case; in one language, so that every machine sorts alike. */
const natural = new Intl.Collator('en', { numeric: true, sensitivity: 'base' });

/**
 * The order in which a person would read: what is shared first, then the overview of a folder, then by name. Total, so
 * that the same folder gives the same proposal everywhere.
 */
export function comparePaths(left: string, right: string): number {
  const [one, other] = [left.split('/'), right.split('/')];
  for (let at = 0; at < one.length && at < other.length; at += 1) {
    const [mine, yours] = [one[at] ?? '', other[at] ?? ''];
    if (mine === yours) continue;
    const ranks = rank(mine, at === one.length - 1) - rank(yours, at === other.length - 1);
    return ranks || natural.compare(mine, yours) || (mine < yours ? -1 : 1);
  }
  return one.length - other.length;
}

function rank(name: string, isLast: boolean): number {
  if (!isLast) return isShared(name) ? 0 : 2;
  return firstName.test(name) ? 1 : 2;
}
