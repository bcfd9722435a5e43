import { sha256 } from '../../core/checksum.ts';
import type { ItemMemory, RememberedItem } from '../../core/item-memory.ts';
import type { Sha256 } from '../../core/package.ts';
import type { DriveItem } from './drive-item.ts';
import { RecentContents } from './recent-contents.ts';

/** Contents kept in this process, until the store has them. */
const recentBytes = 64 * 1024 * 1024;

/**
 * Whether a file still has the content it had: hash and size decide, whatever tags and times say (C2, bugs 21 and 22). Without
 * a hash everything there is must be the same, and there must be a tag at all.
 */
export function isSameContent(known: RememberedItem, item: DriveItem): boolean {
  const isSameSize = item.sizeBytes === null || item.sizeBytes === known.sizeBytes;
  if (item.quickXorHash !== null) return item.quickXorHash === known.quickXorHash && isSameSize;
  const [tag, knownTag] = item.cTag === null ? [item.eTag, known.eTag] : [item.cTag, known.cTag];
  return (
    known.quickXorHash === null &&
    tag !== null &&
    tag === knownTag &&
    item.id === known.itemId &&
    item.sizeBytes === known.sizeBytes &&
    item.modifiedAt === known.modifiedAt
  );
}

/** What the files of drives held when they were last downloaded: by this process, or, as far as it is stored, by one before it. */
export class KnownContents {
  readonly #memory: ItemMemory;
  readonly #drives = new Map<string, Promise<Map<string, RememberedItem>>>();
  /** What is known here and not yet remembered, by drive and path. */
  readonly #pending = new Map<string, Map<string, RememberedItem>>();
  readonly #recent = new RecentContents(recentBytes);

  constructor(memory: ItemMemory) {
    this.#memory = memory;
  }

  /** What a path of a drive held, by its path; from the memory at the first question. */
  async of(driveId: string): Promise<ReadonlyMap<string, RememberedItem>> {
    return this.#open(driveId);
  }

  async note(driveId: string, item: RememberedItem): Promise<void> {
    (await this.#open(driveId)).set(item.path, item);
    const pending = this.#pending.get(driveId) ?? new Map<string, RememberedItem>();
    this.#pending.set(driveId, pending.set(item.path, item));
  }

  keep(checksum: Sha256, content: Uint8Array): void {
    this.#recent.put(checksum, content);
  }

  /** The exact bytes; null where they are nowhere here. */
  async contentOf(checksum: Sha256): Promise<Uint8Array | null> {
    const recent = this.#recent.get(checksum);
    if (recent !== null) return recent;
    // Without the store there is still the drive.
    const stored = await this.#memory.readContent(checksum).catch(() => null);
    return stored !== null && sha256(stored) === checksum ? stored : null;
  }

  /** Whether anything is known here that is not remembered. */
  get hasPending(): boolean {
    return [...this.#pending.values()].some(({ size }) => size > 0);
  }

  /** Has what can be remembered remembered; the rest, and what could not be written, is left for the next time. */
  async persist(): Promise<void> {
    for (const [driveId, pending] of this.#pending) {
      const items = [...pending.values()];
      if (items.length === 0) continue;
      const taken = await this.#memory.remember(driveId, items).catch(() => new Set<string>());
      for (const item of items) {
        if (taken.has(item.path) && pending.get(item.path) === item) pending.delete(item.path);
      }
    }
  }

  #open(driveId: string): Promise<Map<string, RememberedItem>> {
    const known = this.#drives.get(driveId) ?? this.#recall(driveId);
    this.#drives.set(driveId, known);
    return known;
  }

  async #recall(driveId: string): Promise<Map<string, RememberedItem>> {
    try {
      const items = await this.#memory.recall(driveId);
      return new Map(items.map((item) => [item.path, item]));
    } catch (error) {
      this.#drives.delete(driveId);
      throw error;
    }
  }
}
