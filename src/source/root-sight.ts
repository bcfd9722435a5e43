import { opendir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { RootSight } from '../core/root-guard.ts';
import { errorCode, isOwnTrouble } from './system-error.ts';

/**
 * What the root and the names of these files look like now. Asks for names and kinds only, one after another, so that a
 * file system that hangs takes one thread of this process and no more. Throws where this process itself is in trouble.
 */
export async function seeRoot(root: string, required: Iterable<string>): Promise<RootSight> {
  const found = await seeFolder(root);
  const files = new Map<string, boolean>();
  for (const path of required) {
    files.set(path, found.folder === 'there' && (await isThere(join(root, path))));
  }
  return { path: root, ...found, files };
}

async function seeFolder(root: string): Promise<Omit<RootSight, 'path' | 'files'>> {
  try {
    const found = await stat(root, { bigint: true });
    if (!found.isDirectory()) return { folder: 'not_a_folder', place: null };
    const place = { realPath: await realpath(root), identity: `${found.dev}:${found.ino}` };
    return { folder: (await isEmpty(root)) ? 'empty' : 'there', place };
  } catch (error) {
    // Too many open files here say nothing of the root; out of reach is as good as gone.
    if (isOwnTrouble(error)) throw error;
    return { folder: 'absent', code: errorCode(error), place: null };
  }
}

async function isEmpty(root: string): Promise<boolean> {
  try {
    await using entries = await opendir(root);
    return (await entries.read()) === null;
  } catch (error) {
    // A folder that may be passed through and not be listed; one that has just gone is found out by the next look.
    if (errorCode(error) === 'EACCES' || errorCode(error) === 'EPERM') return false;
    throw error;
  }
}

const absentCodes = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG']);

async function isThere(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    return !absentCodes.has(errorCode(error));
  }
}
