import type { KnownItem } from '../../core/drive-tree.ts';
import type { DriveItem } from './drive-item.ts';
import { keyInDrive, type DriveLocation } from './item-path.ts';

/** Which items the listed files and the folders on the way to them last were, for those who read of changes by id. */
export class KnownTree {
  readonly #items = new Map<string, KnownItem>();
  #place = '';

  get items(): readonly KnownItem[] {
    return [...this.#items.values()];
  }

  /** What a listed file last was; null where it has not been met. */
  file(path: string): KnownItem | null {
    return this.#items.get(`${path}\nfile`) ?? null;
  }

  /** Another drive or folder makes everything else unknown. */
  noteRoot(location: DriveLocation, root: DriveItem): void {
    const place = `${location.driveId}\n${keyInDrive(location, '')}`;
    if (place !== this.#place) this.#items.clear();
    this.#place = place;
    this.#note('.', 'folder', root);
  }

  noteFolder(path: string, item: DriveItem): void {
    if (item.kind === 'folder') this.#note(path, 'folder', item);
  }

  /** An item stays known when it is gone, since it may come back. */
  noteFile(path: string, item: DriveItem): void {
    this.#note(path, 'file', item);
  }

  #note(path: string, kind: KnownItem['kind'], item: DriveItem): void {
    const { id: itemId, parentId } = item;
    const name = item.name ?? path.slice(path.lastIndexOf('/') + 1);
    // A folder's path ends where no file's may, so that a file in place of a folder does not take its room.
    this.#items.set(`${path}\n${kind}`, { path, kind, itemId, parentId, name });
  }
}
