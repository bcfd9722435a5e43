import { looksLikeConflictCopy } from '../near-names.ts';
import { copyHint } from '../neighbours.ts';
import { hintsOf, isListedName, judgeRefusal, type FileFound } from './drive-view.ts';
import type { FolderListings, ListedChild } from './folder-listing.ts';
import { GraphError } from './graph-error.ts';
import { foldersTo } from './item-path.ts';
import type { ItemAnswer } from './item-reader.ts';

/** Where listing the folders on the way has led. */
export type Walked =
  | { readonly state: 'found'; readonly itemId: string; readonly parentId: string }
  | Extract<FileFound, { state: 'absent' | 'refused' }>;

export interface Way {
  readonly rootId: string;
  readonly listings: FolderListings;
  /** Every path that is asked for: a listed name is meant, whatever it looks like. */
  readonly listed: ReadonlySet<string>;
  /** Reads a folder by its path below the root. */
  readonly read: (path: string) => Promise<ItemAnswer>;
}

const mostHints = 10;

/**
 * Looks for a path that was answered with 404, by listing: from the deepest folder on the way that is there, name by name, in
 * any Unicode form, the exact one first. Throws `GraphError` where the service did not answer.
 */
export async function walkTo(path: string, way: Way): Promise<Walked> {
  const segments = path.split('/');
  const start = await deepestFolder(path, way);
  let folderId = start.id;
  try {
    for (const [at, segment] of segments.entries()) {
      if (at < start.depth) continue;
      const children = await way.listings.list(folderId);
      const child = findChild(children, segment);
      if (child === null)
        return { state: 'absent', hints: tellOf(path, at, { children, listed: way.listed }) };
      if (at === segments.length - 1) return { state: 'found', itemId: child.id, parentId: folderId };
      if (child.kind !== 'folder') return { state: 'absent', hints: [] };
      folderId = child.id;
    }
  } catch (error) {
    return refusalOf(path, error);
  }
  return { state: 'absent', hints: [] };
}

async function deepestFolder(path: string, way: Way): Promise<{ id: string; depth: number }> {
  const folders = foldersTo(path);
  const answers = await Promise.all(folders.map((folder) => way.read(folder)));
  let deepest = { id: way.rootId, depth: 0 };
  for (const [index, answer] of answers.entries()) {
    const name = folders[index]?.split('/').at(-1) ?? '';
    if (answer.state !== 'item' || answer.item.kind !== 'folder' || !isListedName(name, answer.item.name))
      break;
    deepest = { id: answer.item.id, depth: index + 1 };
  }
  return deepest;
}

function findChild(children: readonly ListedChild[], name: string): ListedChild | null {
  const exact = children.find((child) => child.name === name);
  return exact ?? children.find((child) => isListedName(name, child.name)) ?? null;
}

function tellOf(
  path: string,
  at: number,
  { children, listed }: { readonly children: readonly ListedChild[]; readonly listed: ReadonlySet<string> },
) {
  const segments = path.split('/');
  const name = segments[at] ?? '';
  const names = children.map((child) => child.name);
  const spellings = hintsOf(path, at, names).slice(0, mostHints);
  if (at < segments.length - 1) return spellings;
  const copies = children
    .filter((child) => child.kind !== 'folder' && looksLikeConflictCopy(name, child.name, []))
    .map((child) => [...segments.slice(0, at), child.name].join('/'))
    .filter((copy) => !listed.has(copy))
    .slice(0, mostHints)
    .map((copy) => copyHint(name, copy));
  return [...spellings, ...copies];
}

/** A folder that has gone meanwhile holds nothing; one that may not be listed says nothing (T10). */
function refusalOf(path: string, error: unknown): Walked {
  if (!(error instanceof GraphError) || error.status === null) throw error;
  const { trouble, status } = error;
  if (trouble === 'missing') return { state: 'absent', hints: [] };
  if (trouble !== 'forbidden' && trouble !== 'locked') throw error;
  const found = judgeRefusal(path, { status, codes: error.codes, requestId: error.requestId });
  if (found.state === 'there') throw error;
  return found;
}
