/** Where the registry's paths begin: a drive, and a folder in it. */
export interface DriveLocation {
  readonly driveId: string;
  /** The folder, named from the drive's root; empty for the root itself. */
  readonly rootPath: string;
  /** An item that `rootPath` starts from instead of the drive's root: a shared folder with nothing readable above it. */
  readonly anchorId?: string;
}

/** Where in a drive something is asked for; every part is encoded exactly once, and slashes are left (A3, A4, bug 28). */
export function itemByPath({ driveId, rootPath, anchorId }: DriveLocation, path: string): string {
  const whole = joinPath(rootPath, path);
  const start = anchorId === undefined ? `${drive(driveId)}/root` : itemById(driveId, anchorId);
  return whole === '' ? start : `${start}:/${encodePath(whole)}`;
}

/** What a path is kept under; no name in a drive has a colon (A6). */
export function keyInDrive({ rootPath, anchorId }: Omit<DriveLocation, 'driveId'>, path: string): string {
  const whole = joinPath(rootPath, path);
  return anchorId === undefined ? whole : `${anchorId}:/${whole}`;
}

export function itemById(driveId: string, itemId: string): string {
  return `${drive(driveId)}/items/${encodeURIComponent(itemId)}`;
}

/** Content is asked for by id: by path it has failed on odd names (A5, bug 29). */
export function contentById(driveId: string, itemId: string): string {
  return `${itemById(driveId, itemId)}/content`;
}

export function childrenById(driveId: string, itemId: string): string {
  return `${itemById(driveId, itemId)}/children`;
}

export function encodePath(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/');
}

/** A path below a folder; either may be empty. */
export function joinPath(folder: string, path: string): string {
  return folder === '' || path === '' ? `${folder}${path}` : `${folder}/${path}`;
}

/** The folders on the way to a path, the nearest to the root first. */
export function foldersTo(path: string): string[] {
  const segments = path.split('/');
  return segments.slice(1).map((_, index) => segments.slice(0, index + 1).join('/'));
}

function drive(driveId: string): string {
  return `/drives/${encodeURIComponent(driveId)}`;
}
