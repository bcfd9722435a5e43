import type { KnownItem } from '../../core/drive-tree.ts';
import type { Finding } from '../../core/finding.ts';
import type { RelativePath } from '../../core/package.ts';
import type { DriveItem } from './drive-item.ts';
import {
  hintsOf,
  isListedName,
  judgeItem,
  judgeRefusal,
  type DriveView,
  type FileFound,
} from './drive-view.ts';
import { FolderListings } from './folder-listing.ts';
import type { Graph } from './graph.ts';
import { foldersTo, itemById, itemByPath, keyInDrive, type DriveLocation } from './item-path.ts';
import { ItemReader, type ItemAnswer } from './item-reader.ts';
import { KnownTree } from './known-tree.ts';
import { walkTo, type Walked } from './walk-to.ts';
import { goneHint, movedHint, renamedHint } from './whereabouts.ts';

/** How long a look of the safety net may trust what was found out about folders and about names that are not there. */
const trustedMs = 5 * 60_000;

export interface ViewWanted {
  readonly paths: readonly RelativePath[];
  /** One of the many looks of the safety net: what costs further requests need not be asked each time. */
  readonly isRoutine: boolean;
}

type Found = Extract<ItemAnswer, { state: 'item' }>;

/** Reads what a root and listed files are, without a content, and remembers which items they were. */
export class ViewReader {
  readonly #graph: Pick<Graph, 'batch' | 'call'>;
  readonly #reader: ItemReader;
  readonly #now: () => number;
  readonly #folders = new Map<string, { readonly at: number; readonly answer: Found }>();
  readonly #walked = new Map<string, { readonly at: number; readonly walked: Walked }>();
  readonly #tree = new KnownTree();

  /** `now`: milliseconds of a monotonic clock. */
  constructor(graph: Pick<Graph, 'batch' | 'call'>, now: () => number) {
    this.#graph = graph;
    this.#reader = new ItemReader(graph);
    this.#now = now;
  }

  get knownItems(): readonly KnownItem[] {
    return this.#tree.items;
  }

  /** Throws `GraphError` where the service did not answer. */
  async read(location: DriveLocation, { paths, isRoutine }: ViewWanted): Promise<DriveView> {
    const [root, folders, answers] = await Promise.all([
      this.readRoot(location),
      this.#readFolders(location, paths, isRoutine),
      Promise.all(paths.map((path) => this.#readPath(location, path))),
    ]);
    if (root.state === 'refused') return { state: 'lost', refusal: root };
    if (root.item.kind !== 'folder' || root.item.deleted) return { state: 'not_a_folder', root: root.item };
    const listings = new FolderListings(this.#graph, location.driveId);
    const listed = new Set<string>(paths);
    const place: Place = { location, rootId: root.item.id, listings, listed, isRoutine };
    this.#tree.noteRoot(location, root.item);
    for (const [path, answer] of folders) this.#tree.noteFolder(path, answer.item);
    const files = new Map<RelativePath, FileFound>();
    const judged = await Promise.all(
      paths.map(
        async (path, index) => [path, await this.#judge(place, path, folders, answers[index])] as const,
      ),
    );
    for (const [path, found] of judged) {
      files.set(path, found);
      if (found.state === 'there') this.#tree.noteFile(path, found.item);
    }
    const isAny = [...files.values()].some(({ state }) => state !== 'absent');
    if (!isAny && (await isEmpty(root, listings))) return { state: 'empty', root: root.item };
    return { state: 'there', root: root.item, files };
  }

  readRoot(location: DriveLocation): Promise<ItemAnswer> {
    return this.#reader.read(itemByPath(location, ''));
  }

  /** An item as it is now; null where it is gone, or is not to be read any more. */
  async readAgain({ driveId }: DriveLocation, itemId: string): Promise<DriveItem | null> {
    const answer = await this.#reader.read(itemById(driveId, itemId));
    return answer.state === 'item' && !answer.item.deleted ? answer.item : null;
  }

  /** Whether a folder that says it has nothing in it really has nothing. */
  isEmpty({ driveId }: DriveLocation, root: ItemAnswer): Promise<boolean> {
    return isEmpty(root, new FolderListings(this.#graph, driveId));
  }

  #readPath(location: DriveLocation, path: string): Promise<ItemAnswer> {
    return this.#reader.read(itemByPath(location, path));
  }

  /** The folders on the way to these files that are found by their paths. */
  async #readFolders(
    location: DriveLocation,
    paths: readonly string[],
    isRoutine: boolean,
  ): Promise<ReadonlyMap<string, Found>> {
    const found = new Map<string, Found>();
    await Promise.all(
      [...new Set(paths.flatMap(foldersTo))].map(async (path) => {
        const answer = await this.#readFolder(location, path, isRoutine);
        if (answer.state === 'item') found.set(path, answer);
      }),
    );
    return found;
  }

  async #readFolder(location: DriveLocation, path: string, isRoutine: boolean): Promise<ItemAnswer> {
    const key = keyOf(location, path);
    const known = this.#folders.get(key);
    if (isRoutine && known && this.#now() - known.at < trustedMs) return known.answer;
    const at = this.#now();
    const answer = await this.#readPath(location, path);
    if (answer.state === 'item') this.#folders.set(key, { at, answer });
    else this.#folders.delete(key);
    return answer;
  }

  async #judge(
    place: Place,
    path: string,
    folders: ReadonlyMap<string, Found>,
    answer: ItemAnswer | undefined,
  ): Promise<FileFound> {
    if (answer === undefined) throw new TypeError('Every path was asked for.');
    if (answer.state === 'item') return otherFolder(path, folders) ?? judgeItem(path, answer);
    // Some services refuse a name that they do not hold for one; whatever it is, it is no deletion.
    return answer.status === 404 ? this.#confirm(place, path) : judgeRefusal(path, answer);
  }

  /** A 404 may be a lag, a lost permission or another Unicode form, so the folder is asked too (T10, D22, A7). */
  async #confirm(place: Place, path: string): Promise<FileFound> {
    const { location, isRoutine } = place;
    const key = keyOf(location, path);
    const known = this.#walked.get(key);
    if (isRoutine && known && this.#now() - known.at < trustedMs) {
      const found = await this.#judgeWalked(location, path, known.walked);
      if (found !== null) return found;
    }
    const at = this.#now();
    const read = (target: string) => this.#readPath(location, target);
    const found = await walkTo(path, { ...place, read });
    const isGone = found.state === 'absent' && found.hints.length === 0;
    const walked = isGone ? { ...found, hints: await this.#whereabouts(place, path) } : found;
    this.#walked.set(key, { at, walked });
    return (await this.#judgeWalked(location, path, walked)) ?? { state: 'absent', hints: [] };
  }

  /** What became of a file that was met before: its id outlives renames and moves (A1). */
  async #whereabouts({ location }: Place, path: string): Promise<readonly Finding[]> {
    const known = this.#tree.file(path);
    if (known === null) return [];
    const { driveId } = location;
    const answer = await this.#reader.read(itemById(driveId, known.itemId));
    if (answer.state === 'refused') return answer.status === 404 ? [goneHint(path)] : [];
    const { name, parentId, deleted } = answer.item;
    if (deleted) return [goneHint(path)];
    if (parentId === null || parentId === known.parentId)
      return name === null ? [] : [renamedHint(path, name)];
    const folder = await this.#reader.read(itemById(driveId, parentId));
    return [movedHint(path, folder.state === 'item' ? folder.item.name : null, name)];
  }

  /** Null where the item that the walk led to is gone. */
  async #judgeWalked({ driveId }: DriveLocation, path: string, walked: Walked): Promise<FileFound | null> {
    if (walked.state !== 'found') return walked;
    const answer = await this.#reader.read(itemById(driveId, walked.itemId));
    if (answer.state === 'item') {
      const isMoved = answer.item.parentId !== null && answer.item.parentId !== walked.parentId;
      return isMoved || answer.item.deleted ? null : judgeItem(path, answer);
    }
    return answer.status === 404 ? null : judgeRefusal(path, answer);
  }
}

interface Place {
  readonly location: DriveLocation;
  readonly rootId: string;
  readonly listings: FolderListings;
  readonly listed: ReadonlySet<string>;
  readonly isRoutine: boolean;
}

/** A path is found whatever its letter case (A2), its folders' too, and the registry means exactly one. */
function otherFolder(path: string, folders: ReadonlyMap<string, Found>): FileFound | null {
  for (const [at, folder] of foldersTo(path).entries()) {
    const name = folders.get(folder)?.item.name ?? null;
    const listed = folder.slice(folder.lastIndexOf('/') + 1);
    if (name !== null && !isListedName(listed, name))
      return { state: 'absent', hints: hintsOf(path, at, [name]) };
  }
  return null;
}

async function isEmpty(root: ItemAnswer, listings: FolderListings): Promise<boolean> {
  if (root.state !== 'item' || root.item.kind !== 'folder' || root.childCount !== 0) return false;
  return (await listings.list(root.item.id)).length === 0;
}

function keyOf(location: DriveLocation, path: string): string {
  return `${location.driveId}\n${keyInDrive(location, path)}`;
}
