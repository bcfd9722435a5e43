import { open, rename, rm } from 'node:fs/promises';
import { randomBytes } from 'node:crypto';
import path from 'node:path';

/** Whom a file made by root is given to; null: it stays with the process's own user. */
export interface FileOwner {
  readonly uid: number;
  readonly gid: number;
}

/**
 * Replaces a file as a whole, mode 0600 at any umask and durably: after a crash there is the old file or the new one.
 * A symlink in its place is replaced, never followed.
 */
export async function writePrivateFile(
  file: string,
  content: string,
  owner: FileOwner | null,
): Promise<void> {
  const draft = `${file}.${randomBytes(6).toString('hex')}`;
  try {
    await using handle = await open(draft, 'wx', 0o600);
    await handle.chmod(0o600);
    await handle.writeFile(content);
    if (owner !== null) {
      await handle.chown(owner.uid, owner.gid);
    }
    await handle.sync();
    await rename(draft, file);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
  await syncFolder(path.dirname(file));
}

/** Makes a rename inside this folder survive a power loss. */
export async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') {
    return; // Windows opens no folder for this, and needs none.
  }
  await using handle = await open(folder, 'r');
  await handle.sync();
}
