import type { Sha256 } from './package.ts';

/** What a file of a drive was when its content was captured. */
export interface RememberedItem {
  /** Its path as it is asked for: from the drive's root, or `<item id>:/` and the path from a shared folder. */
  readonly path: string;
  readonly itemId: string;
  readonly eTag: string | null;
  readonly cTag: string | null;
  readonly sizeBytes: number;
  readonly quickXorHash: string | null;
  readonly modifiedAt: string | null;
  /** SHA-256 of the bytes that were downloaded. */
  readonly checksum: Sha256;
  /** Whether the service reported another length or hash than its bytes have (C10). */
  readonly unverified: boolean;
}

/**
 * What a drive's files were at the last capture, so that nothing is downloaded twice, after a restart neither. It only
 * ever speaks of contents the store holds (bug 3): it can be lost at the price of downloads.
 */
export interface ItemMemory {
  /** Everything it knows of one drive. */
  recall(driveId: string): Promise<readonly RememberedItem[]>;
  /** Remembers those whose content is stored; the others are left for a later call. Answers with the paths it took. */
  remember(driveId: string, items: readonly RememberedItem[]): Promise<ReadonlySet<string>>;
  /** The stored bytes; null where there are none. */
  readContent(checksum: Sha256): Promise<Uint8Array | null>;
}

/** Remembers nothing: for those who look once and have no database. */
export const noMemory: ItemMemory = {
  recall: async () => [],
  remember: async () => new Set(),
  readContent: async () => null,
};
