import type { Finding, WarningCode } from '../core/finding.ts';
import { quote } from '../core/quote.ts';
import { foldPath } from '../core/registry/relative-path.ts';
import { walkBeneath } from './beneath-root.ts';
import type { ReadFile, View } from './listed-file.ts';
import { looksLikeConflictCopy } from './near-names.ts';
import type { Entry } from './place.ts';

/** Names looked through in one folder; what lies beyond goes unnoticed, and nothing depends on it (F56). */
const maxEntries = 10_000;
/** Findings of one kind about one file: a folder full of copies needs no longer list. */
const maxFindings = 10;

export interface Surroundings {
  /** Every listed path: a listed name is meant, whatever it looks like. */
  readonly listed: ReadonlySet<string>;
  /** Names of machines known to write into the folder. */
  readonly hosts: readonly string[];
}

/**
 * What a person should know about one file from the names around it: for a present file the link that led to it and
 * the conflict copies beside it, for an absent one what looks like it in any segment of its path (W19, W20, W29, W30).
 * A folder that cannot be listed is passed over. Each folder is listed once in the life of a `Neighbours`.
 */
export class Neighbours {
  readonly #view: View;
  readonly #surroundings: Surroundings;
  readonly #folders = new Map<string, readonly Entry[]>();

  constructor(view: View, surroundings: Surroundings) {
    this.#view = view;
    this.#surroundings = surroundings;
  }

  about(file: ReadFile): readonly Finding[] {
    const path = file.look.relativePath;
    if (file.look.state === 'refused') return [];
    const segments = path.split('/');
    const at = file.missingSegment ?? segments.length - 1;
    const folder = segments.slice(0, at).join('/');
    const name = segments[at] ?? '';
    const isLast = at === segments.length - 1;
    const copies = isLast ? this.#copiesOf(folder, name) : [];
    if (file.look.state === 'absent') return [...this.#spellingsOf(folder, name), ...copies];
    return file.throughLink ? [...linked(path), ...copies] : copies;
  }

  #spellingsOf(folder: string, name: string): readonly Finding[] {
    return this.#list(folder)
      .flatMap((entry) => spellingHint(name, entry, inFolder(folder, entry.name)) ?? [])
      .slice(0, maxFindings);
  }

  #copiesOf(folder: string, name: string): readonly Finding[] {
    const { listed, hosts } = this.#surroundings;
    return this.#list(folder)
      .filter((entry) => entry.kind !== 'folder' && looksLikeConflictCopy(name, entry.name, hosts))
      .map((entry) => inFolder(folder, entry.name))
      .filter((path) => !listed.has(path))
      .slice(0, maxFindings)
      .map((path) => copyHint(name, path));
  }

  #list(folder: string): readonly Entry[] {
    const known = this.#folders.get(folder) ?? this.#read(folder);
    this.#folders.set(folder, known);
    return known;
  }

  #read(folder: string): readonly Entry[] {
    try {
      using walk = walkBeneath(this.#view.root, folder, this.#view.rootSpellings);
      return walk.state === 'found' ? walk.place.list(maxEntries) : [];
    } catch {
      // No permission to list, or gone meanwhile: hints are a courtesy and never stand in the way of the look.
      return [];
    }
  }
}

/** What tells of an entry at `path` that looks like a conflict copy of `name`. */
export function copyHint(name: string, path: string): Finding {
  const said = `${quote(path, 400)} looks like a conflict copy of ${quote(name, 255)}: two versions may exist.`;
  return finding('conflict_copy_present', path, `${said} It was not read.`);
}

/** What tells of an entry at `path` that is spelled almost as `name`; null where it is not. */
export function spellingHint(name: string, entry: Entry, path: string): Finding | null {
  const there = `The folder has ${quote(path, 400)}, `;
  if (entry.name === name) {
    const message = `${quote(path, 400)} is a symbolic link that leads to nothing.`;
    return entry.kind === 'link' ? finding('symlink_inside_root', path, message) : null;
  }
  if (entry.name.normalize('NFC') === name.normalize('NFC')) {
    const message = `${there}which looks the same and is spelled with other Unicode characters (NFC, NFD).`;
    return finding('name_differs_by_unicode_form', path, message);
  }
  return foldPath(entry.name) === foldPath(name)
    ? finding('name_differs_by_case', path, `${there}which differs from the listed name only in letter case.`)
    : null;
}

function linked(path: string): readonly Finding[] {
  return [
    finding(
      'symlink_inside_root',
      path,
      `${quote(path, 400)} is reached through a symbolic link inside the root.`,
    ),
  ];
}

function inFolder(folder: string, name: string): string {
  return folder === '' ? name : `${folder}/${name}`;
}

function finding(code: WarningCode, relativePath: string, message: string): Finding {
  return { code, relativePath, line: null, message };
}
