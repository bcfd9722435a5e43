/** A file or folder of a drive whose id is known, and by which path the registry means it. */
export interface KnownItem {
  /** Named from the root of the registry's paths: a listed file, or a folder on the way to one; `.` is the root itself. */
  readonly path: string;
  readonly kind: 'file' | 'folder';
  readonly itemId: string;
  readonly parentId: string | null;
  /** As the drive spells it. */
  readonly name: string;
}
