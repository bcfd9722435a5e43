import { statfs } from 'node:fs/promises';

/** How full the volume is that a folder lies on. */
export interface FreeSpace {
  /** What an ordinary user may still write: the share kept back for root is not in it. */
  readonly freeBytes: number;
  readonly totalBytes: number;
}

/** Asks the operating system about the volume of a folder. Rejects with its error where the folder is not there. */
export async function readFreeSpace(folder: string): Promise<FreeSpace> {
  const { bavail, blocks, bsize } = await statfs(folder);
  return { freeBytes: bavail * bsize, totalBytes: blocks * bsize };
}
