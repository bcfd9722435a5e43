import type { FileDefinition } from './package.ts';
import type { SettleHint } from './settle-window.ts';

/** Something that happened somewhere below the source's root; paths are named from the root. */
export interface FolderEvent {
  /** The folder it happened in; `.` is the root itself. */
  readonly folder: string;
  /** The listed file that changed; null for anything else. */
  readonly file: string | null;
  /** The name in the folder that it was about, where it was about one. */
  readonly name: string | null;
  /** Whether it smells of several changes. */
  readonly burst: boolean;
}

/**
 * What an event means for the package that lists these files; null where it means nothing. A listed file concerns those
 * who list it. Anything else in a folder (a temporary name, a conflict copy, the folder itself) concerns everybody who
 * has a file there or below, and all but names like their own only a little: agents that share a folder must not keep
 * each other waiting (R15).
 */
export function hintFor(
  event: FolderEvent,
  files: readonly Pick<FileDefinition, 'relativePath'>[],
): Omit<SettleHint, 'at'> | null {
  const { folder, file, name, burst } = event;
  const paths: readonly string[] = files.map((listed) => listed.relativePath);
  if (file !== null) return paths.includes(file) ? { file, burst } : null;
  const near = paths.filter((path) => folder === '.' || path.startsWith(`${folder}/`));
  if (near.length === 0) return null;
  const isAbout =
    name !== null && near.some((path) => looksLike(name, path.slice(path.lastIndexOf('/') + 1)));
  return { file: null, burst, aside: !isAbout };
}

/** Shorter stems than this are part of too many names. */
const leastStem = 4;

/** Whether a name may be one that a save of this file goes through: `~$rules.md`, `rules.md.tmp`, `rules (1).md`. */
function looksLike(name: string, listed: string): boolean {
  const stem = listed.replace(/\.[^.]*$/, '');
  return folded(name).includes(folded(stem.length < leastStem ? listed : stem));
}

function folded(name: string): string {
  return name.normalize('NFC').toLowerCase();
}
