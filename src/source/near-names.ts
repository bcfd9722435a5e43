/**
 * Whether `neighbour` looks like a copy of `listed` that a sync client or a person made when two had written: the
 * listed name with a mark before its extension (W29, W30). `hosts` are names of machines known to write here.
 *
 * A mark is one of
 * - `(1)`; ` - Copy`, ` copy 2`, in a few languages; and `Copy of NAME`;
 * - `-HOST-safeBackup-0001`, `.sync-conflict-20260131-…`, `_conflict-20260131-…`;
 * - `(… conflicted copy …)`, `(… conflict 2026-01-31)`, `(Case Conflict)`;
 * - `-HOST` or `(HOST)`, where HOST is a known one or has the form a system gives by itself (`DESKTOP-7QK2ABC`,
 *   `ANNA-PC`, `Annas-MacBook-Pro`); in brackets any single word will do that is no common remark, version or date.
 *
 * Words people put into names themselves (`-v2`, `-draft`, ` 2`, `(final)`) are no marks.
 */
export function looksLikeConflictCopy(listed: string, neighbour: string, hosts: readonly string[]): boolean {
  const [name, other] = [listed.normalize('NFC'), neighbour.normalize('NFC')];
  const extension = /.\.[^.]*$/.test(name) ? name.slice(name.lastIndexOf('.')) : '';
  const stem = name.slice(0, name.length - extension.length);
  if (other.length <= name.length || !other.endsWith(extension)) return false;
  const otherStem = other.slice(0, other.length - extension.length);
  if (otherStem.endsWith(stem) && copyPrefix.test(otherStem.slice(0, -stem.length))) return true;
  if (!otherStem.startsWith(stem)) return false;
  const mark = otherStem.slice(stem.length);
  if (marks.some((pattern) => pattern.test(mark))) return true;
  const dashed = /^-(.+?)(?:-\d{1,3})?$/.exec(mark)?.[1];
  const bracketed = /^ ?\(([^()]+)\)$/.exec(mark)?.[1];
  return [dashed, bracketed].some((word) => isHost(word, hosts)) || isHostLikeWord(bracketed);
}

const copyPrefix = /^(?:copy of|kopie von|copie de|copia de) $/i;
const copyWord = '(?:copy|kopie|copie|copia|cópia|نسخة)';

const marks = [
  /^ ?\(\d{1,3}\)$/,
  new RegExp(`^ -? ?${copyWord}(?: \\(?\\d{1,3}\\)?)?$`, 'i'),
  /^-.+-safeBackup-\d{4}$/i,
  /^[ ._-](?:sync-)?conflict[ _-]\d{4}/i,
  /^ ?\(.*(?:conflict(?:ed)? copy|conflict.*\d{4}|case conflict).*\)$/i,
];

function isHost(word: string | undefined, hosts: readonly string[]): boolean {
  if (word === undefined) return false;
  const known = hosts.some((host) => host.toLowerCase() === word.toLowerCase());
  return known || systemNames.some((pattern) => pattern.test(word));
}

/** What Windows and macOS call a machine that nobody has named. In capitals, since these folders write names so, a number is asked for where the length says nothing. */
const systemNames = [
  /^(?:DESKTOP-[0-9A-Z]{7}|LAPTOP-[0-9A-Z]{8})$/,
  /^(?:DESKTOP|LAPTOP|WIN|MININT|PC)-(?=[A-Z]*[0-9])[0-9A-Z]{4,15}$/,
  /^[\p{L}\p{N}-]{2,}-(?:PC|LAPTOP|DESKTOP|NOTEBOOK|MacBook(?:-Pro|-Air)?|iMac|Mac-mini)$/u,
];

const remarks =
  /^(?:v?\d.*|[a-z]{2}(?:-[a-z]{2})?|draft|final|old|new|archived?|backup|review(?:ed)?|internal|public|private|examples?|template|sample|test|todo|wip|deprecated|obsolete|short|long|full|part|english|arabic|german|french|spanish)$/i;

function isHostLikeWord(word: string | undefined): boolean {
  return word !== undefined && /^[\p{L}\p{N}][\p{L}\p{N}._-]{2,62}$/u.test(word) && !remarks.test(word);
}
