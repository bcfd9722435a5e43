import { stat } from 'node:fs/promises';

/** Who may do what with a file or folder; null where it is not there. */
export interface FileMode {
  readonly path: string;
  /** The permission bits, such as 0o600. */
  readonly mode: number | null;
}

/** The permission bits behind these paths. Throws the system's error where they cannot be had. */
export async function readFileModes(paths: readonly string[]): Promise<FileMode[]> {
  return Promise.all(paths.map(async (path) => ({ path, mode: await readMode(path) })));
}

async function readMode(path: string): Promise<number | null> {
  try {
    return (await stat(path)).mode & 0o777;
  } catch (error) {
    if ((error as { code?: string }).code === 'ENOENT') return null;
    throw error;
  }
}
