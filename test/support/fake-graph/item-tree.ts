import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync, type BigIntStats } from 'node:fs';
import { join } from 'node:path';
import { quickXorOf } from './quick-xor.ts';

/** An item of the drive as last seen on disk. */
export interface FakeItem {
  readonly id: string;
  /** Null: the root. */
  parentId: string | null;
  /** As on disk, in its own Unicode form. */
  name: string;
  readonly kind: 'file' | 'folder';
  sizeBytes: number;
  modifiedAt: Date;
  readonly createdAt: Date;
  hash: string;
  /** Counts every change; the eTag's. */
  version: number;
  /** Counts changes of the content; the cTag's. */
  contentVersion: number;
  /** When it last changed, in the tree's own counting. */
  changedAt: number;
  deleted: boolean;
  /** What the stat said, so that only what moved is read again. */
  print: string;
}

/** A write this young may be followed by another that the stat does not show. */
const tickMs = 100;

/**
 * A folder as a drive. An id belongs to an inode, so it survives renames and moves, whoever makes them, and a file that is
 * deleted and made again has another one. Nothing is watched: `scan` compares.
 */
export class ItemTree {
  readonly root: string;
  readonly rootId: string;
  readonly items = new Map<string, FakeItem>();
  sequence = 0;
  /** Made when it is needed after a scan. */
  #byParent: ReadonlyMap<string | null, readonly FakeItem[]> | null = null;
  readonly #sizes = new Map<string, number>();
  readonly #scanEveryMs: number;
  #scannedAt = -Infinity;

  /** `scanEveryMs`: how old what is known of the folder may be. */
  constructor(root: string, scanEveryMs = 0) {
    this.root = root;
    this.#scanEveryMs = scanEveryMs;
    this.rootId = this.#idOf(statSync(root, { bigint: true }), '');
    this.scan();
  }

  /** Takes in what has changed on disk since the last time, unless that time is very near. */
  scan(): void {
    const now = performance.now();
    if (now - this.#scannedAt < this.#scanEveryMs) return;
    this.#scannedAt = now;
    this.#byParent = null;
    this.#sizes.clear();
    const seen = new Set<string>();
    // A folder that is gone is a drive in which there is nothing any more.
    const stat = statSync(this.root, { bigint: true, throwIfNoEntry: false });
    if (stat !== undefined) this.#see({ path: this.root, name: 'root', parentId: null, stat }, seen);
    for (const item of this.items.values()) {
      if (item.deleted || seen.has(item.id)) continue;
      Object.assign(item, { deleted: true, changedAt: this.#next() });
    }
  }

  live(id: string): FakeItem | null {
    const item = this.items.get(id);
    return item === undefined || item.deleted ? null : item;
  }

  children(id: string): readonly FakeItem[] {
    this.#byParent ??= Map.groupBy(
      [...this.items.values()].filter((item) => !item.deleted),
      ({ parentId }) => parentId,
    );
    return this.#byParent.get(id) ?? [];
  }

  /** Bytes of all files below a folder; added up once for each scan. */
  sizeBelow(folder: FakeItem): number {
    const known = this.#sizes.get(folder.id);
    if (known !== undefined) return known;
    const sizes = this.children(folder.id).map((child) =>
      child.kind === 'file' ? child.sizeBytes : this.sizeBelow(child),
    );
    const size = sizes.reduce((sum, one) => sum + one, 0);
    this.#sizes.set(folder.id, size);
    return size;
  }

  /** By the names from the root, or from a folder, on; case does not matter, the Unicode form does (A2, A7). */
  find(names: readonly string[], from: FakeItem | null = this.live(this.rootId)): FakeItem | null {
    let here = from;
    for (const name of names) {
      if (here === null) return null;
      const children = this.children(here.id);
      here =
        children.find((child) => child.name === name) ??
        children.find((child) => child.name.toLowerCase() === name.toLowerCase()) ??
        null;
    }
    return here;
  }

  /** From the root down to the item, which is the last; empty where a folder on the way is gone. */
  chain(item: FakeItem): FakeItem[] {
    if (item.parentId === null) return [item];
    const parent = this.items.get(item.parentId);
    return parent === undefined ? [item] : [...this.chain(parent), item];
  }

  /** `/Folder/file.md`; empty for the root. */
  pathOf(item: FakeItem): string {
    return this.chain(item)
      .filter(({ parentId }) => parentId !== null)
      .map(({ name }) => `/${name}`)
      .join('');
  }

  read(item: FakeItem): Buffer {
    return readFileSync(join(this.root, this.pathOf(item)));
  }

  #see(
    found: {
      readonly path: string;
      readonly name: string;
      readonly parentId: string | null;
      readonly stat: BigIntStats;
    },
    seen: Set<string>,
  ): void {
    const { path, name, parentId, stat } = found;
    let id = parentId === null ? this.rootId : this.#idOf(stat, '');
    // A hard link is a second file with the same inode.
    if (seen.has(id)) id = this.#idOf(stat, path);
    seen.add(id);
    const item = this.items.get(id) ?? this.#add(id, found);
    this.#compare(item, { path, name, parentId, stat });
    if (item.kind === 'file') return;
    for (const entry of readdirSync(path, { withFileTypes: true })) {
      if (!entry.isFile() && !entry.isDirectory()) continue;
      const below = join(path, entry.name);
      const belowStat = statSync(below, { bigint: true, throwIfNoEntry: false });
      if (belowStat !== undefined)
        this.#see({ path: below, name: entry.name, parentId: id, stat: belowStat }, seen);
    }
  }

  #add(
    id: string,
    { stat, name, parentId }: { stat: BigIntStats; name: string; parentId: string | null },
  ): FakeItem {
    const item: FakeItem = {
      id,
      parentId,
      name,
      kind: stat.isDirectory() ? 'folder' : 'file',
      sizeBytes: 0,
      modifiedAt: stat.mtime,
      createdAt: stat.birthtime,
      hash: '',
      version: 0,
      contentVersion: 0,
      changedAt: 0,
      deleted: false,
      print: '',
    };
    this.items.set(id, item);
    return item;
  }

  #compare(
    item: FakeItem,
    {
      path,
      name,
      parentId,
      stat,
    }: { path: string; name: string; parentId: string | null; stat: BigIntStats },
  ): void {
    // What happens inside a folder changes the folder's time and nothing that its eTag stands for.
    const parts = item.kind === 'folder' ? [] : [stat.size, stat.mtimeNs, stat.ctimeNs];
    const isYoung = Date.now() - Number(stat.mtimeMs) < tickMs;
    const print = [name, parentId, ...parts].join('|');
    if (print === item.print && !item.deleted && !isRacy(item)) return;
    const [hash, sizeBytes] = item.kind === 'folder' ? ['', 0] : hashed(path);
    const hasMoved = item.deleted || print !== item.print || hash !== item.hash;
    const hasContent = item.contentVersion === 0 || hash !== item.hash || sizeBytes !== item.sizeBytes;
    Object.assign(item, { name, parentId, hash, sizeBytes, modifiedAt: stat.mtime, print, deleted: false });
    if (hasContent) item.contentVersion += 1;
    if (hasMoved || hasContent) Object.assign(item, { version: item.version + 1, changedAt: this.#next() });
    if (isYoung) racy.add(item);
    else racy.delete(item);
  }

  #next(): number {
    this.sequence += 1;
    return this.sequence;
  }

  /** Birth goes into it, since file systems use an inode's number again. */
  #idOf(stat: BigIntStats, more: string): string {
    const key = `${stat.dev}:${stat.ino}:${stat.birthtimeNs}:${more}`;
    return `01${createHash('sha256').update(key).digest('hex').slice(0, 32).toUpperCase()}`;
  }
}

const racy = new WeakSet<FakeItem>();

function isRacy(item: FakeItem): boolean {
  return item.kind === 'file' && racy.has(item);
}

function hashed(path: string): [string, number] {
  try {
    const bytes = readFileSync(path);
    return [quickXorOf(bytes), bytes.length];
  } catch {
    // Gone or closed between two steps of the scan: the next scan sees it.
    return ['', 0];
  }
}
