import type { KnownItem } from './drive-tree.ts';
import type { FolderEvent } from './folder-event.ts';

/** What a drive's feed of changes last said of one item; whatever it left out is null. Never the truth, only a hint. */
export interface DriveChange {
  readonly id: string;
  readonly name: string | null;
  readonly parentId: string | null;
  readonly kind: 'file' | 'folder' | 'other' | 'unknown';
  readonly deleted: boolean;
}

export interface DriveHints {
  /** One event per listed file that may have changed, in the order of their paths. */
  readonly events: readonly FolderEvent[];
  /** Changes that concern nothing listed: other files, ancestors that only ride along (D4), entries without anything (D12). */
  readonly ignored: number;
}

/** What is known when changes are judged. */
interface Known {
  /** Every file the registry lists, named from the root, by its folded path. */
  readonly listed: ReadonlyMap<string, readonly string[]>;
  readonly byId: ReadonlyMap<string, readonly KnownItem[]>;
  /** The folded paths of every folder that leads to a listed file. */
  readonly onTheWay: ReadonlySet<string>;
}

/**
 * Which listed files a round of changes is about: pure, whatever the order, and the same when it is applied twice (D3).
 *
 * A change matters when its id is a known file's, whatever became of it; when a known folder of this id was deleted, renamed
 * or moved, since what lies below is not told of (D5); and when it has the name of a listed file, or of a folder on the
 * way to one, in a known folder: created, moved in, or deleted and made anew (D14, bug 17). Without a name, everything in
 * that folder may be meant (bug 19).
 */
export function driveHints(
  known: readonly KnownItem[],
  listed: readonly string[],
  changes: readonly DriveChange[],
): DriveHints {
  const all: Known = {
    listed: Map.groupBy(new Set(listed), fold),
    byId: Map.groupBy(known, (item) => item.itemId),
    onTheWay: foldersOf(listed),
  };
  const exact = new Set<string>();
  const wide = new Set<string>();
  let ignored = 0;
  for (const change of changes) {
    const { files, isWide } = concerned(all, change);
    for (const file of files) (isWide ? wide : exact).add(file);
    if (files.size === 0) ignored += 1;
  }
  const files = [...new Set([...exact, ...wide])].sort();
  const events = files.map((file) => eventOf(file, files.length > 1 || wide.has(file)));
  return { events, ignored };
}

function concerned(known: Known, change: DriveChange): { files: ReadonlySet<string>; isWide: boolean } {
  const files = new Set<string>();
  const add = (found: readonly string[]) => found.forEach((file) => files.add(file));
  let isWide = false;
  for (const item of known.byId.get(change.id) ?? []) {
    if (item.kind === 'file') add(named(known, item.path));
    else if (hasChanged(item, change)) {
      isWide = true;
      add(below(known, item.path));
    }
  }
  for (const parent of parentsOf(known, change)) {
    const [inside, isNamed] = [childrenMeant(known, parent, change), change.name !== null];
    isWide ||= !isNamed && inside.length > 0;
    add(inside);
  }
  return { files, isWide };
}

/** Whether a known folder is no longer what it was; one that only rides along with a change below it has not changed (D4). */
function hasChanged(item: KnownItem, { deleted, name, parentId }: DriveChange): boolean {
  if (deleted || name === null || name !== item.name) return true;
  return parentId !== null && item.parentId !== null && parentId !== item.parentId;
}

function parentsOf(known: Known, { parentId }: DriveChange): readonly KnownItem[] {
  if (parentId === null) return [];
  return (known.byId.get(parentId) ?? []).filter((item) => item.kind === 'folder');
}

/** Which listed files a child of this folder may be, or hold. */
function childrenMeant(known: Known, parent: KnownItem, change: DriveChange): readonly string[] {
  if (change.name === null) return nameless(known, parent.path, change);
  const path = parent.path === '.' ? change.name : `${parent.path}/${change.name}`;
  const files = named(known, path);
  if (!known.onTheWay.has(fold(path)) || isAsKnown(known, change)) return files;
  return [...files, ...below(known, path)];
}

/** A folder that is known already has been judged by its id. */
function isAsKnown(known: Known, change: DriveChange): boolean {
  const items = known.byId.get(change.id) ?? [];
  return items.some((item) => item.kind === 'folder' && !hasChanged(item, change));
}

/** A nameless entry is some child of the folder: a file in it, a folder in it, or either. */
function nameless(known: Known, folder: string, { kind }: DriveChange): string[] {
  const inside = below(known, folder);
  if (kind !== 'file' && kind !== 'folder') return inside;
  const prefix = folder === '.' ? 0 : folder.length + 1;
  return inside.filter((file) => file.slice(prefix).includes('/') === (kind === 'folder'));
}

function named(known: Known, path: string): readonly string[] {
  return known.listed.get(fold(path)) ?? [];
}

function below(known: Known, folder: string): string[] {
  const start = folder === '.' ? '' : `${fold(folder)}/`;
  return [...known.listed].flatMap(([folded, files]) => (folded.startsWith(start) ? files : []));
}

function foldersOf(listed: readonly string[]): Set<string> {
  const folders = new Set<string>();
  for (const file of listed) {
    for (let end = file.lastIndexOf('/'); end > 0; end = file.lastIndexOf('/', end - 1)) {
      folders.add(fold(file.slice(0, end)));
    }
  }
  return folders;
}

/** Names are found whatever their letter case (A2) and Unicode form (A7), so hints are too. */
function fold(path: string): string {
  return path.normalize('NFC').toLowerCase();
}

function eventOf(file: string, burst: boolean): FolderEvent {
  const end = file.lastIndexOf('/');
  return { folder: end === -1 ? '.' : file.slice(0, end), file, name: file.slice(end + 1), burst };
}
