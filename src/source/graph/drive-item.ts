/** An item of a drive as far as anybody here cares; whatever the service leaves out is null. */
export interface DriveItem {
  readonly id: string;
  /** As the service spells it; missing in many deletions. */
  readonly name: string | null;
  readonly parentId: string | null;
  readonly kind: 'file' | 'folder' | 'other' | 'unknown';
  readonly isRoot: boolean;
  readonly deleted: boolean;
  readonly eTag: string | null;
  readonly cTag: string | null;
  /** Null where it is missing, negative or no whole number (C11). */
  readonly sizeBytes: number | null;
  /** Base64, 20 bytes. */
  readonly quickXorHash: string | null;
  /** As the service spells it: a client sets it, so it is compared and never read (C13). */
  readonly modifiedAt: string | null;
}
