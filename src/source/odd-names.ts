import { hostname } from 'node:os';
import { looksLikeConflictCopy } from './near-names.ts';

/** What editors, Office and sync clients leave beside a file for a while (W32). */
const temporary =
  /^~\$|^\.~lock\.|^~RF.*\.tmp$|^4913$|~$|\.(?:tmp|temp|swp|swo|swx|part|partial|crdownload|bak)$/i;

/** Why a name is none that anybody would list, as the end of a sentence; null where it may be one. */
export function passingName(name: string): string | null {
  if (temporary.test(name)) return 'is a temporary file';
  return name.startsWith('.') ? 'is hidden' : null;
}

/** The names of one folder that look like conflict copies of another one there, each with the reason to leave it out. */
export function findConflictCopies(names: readonly string[]): ReadonlyMap<string, string> {
  const there = new Set(names);
  const hosts = [hostname(), hostname().replace(/\..*$/, '')];
  const copies = new Map<string, string>();
  for (const name of names) {
    const original = originalsOf(name).find(
      (candidate) => there.has(candidate) && looksLikeConflictCopy(candidate, name, hosts),
    );
    if (original !== undefined) copies.set(name, `looks like a conflict copy of ${original}`);
  }
  return copies;
}

/** Every name this one could be a copy of: its extension after the beginning or the end of its stem. */
function originalsOf(name: string): string[] {
  const dot = name.lastIndexOf('.');
  const [stem, extension] = dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, ''];
  return Array.from({ length: Math.max(0, stem.length - 1) }, (_, at) => at + 1).flatMap((at) => [
    `${stem.slice(0, at)}${extension}`,
    `${stem.slice(at)}${extension}`,
  ]);
}
