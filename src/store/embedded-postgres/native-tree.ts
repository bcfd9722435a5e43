import { randomBytes } from 'node:crypto';
import {
  chmod,
  copyFile,
  mkdir,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  stat,
  symlink,
} from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { ifThere } from './if-there.ts';
import { codeOf, inWords } from './plain-words.ts';

const links = z.array(z.object({ source: z.string(), target: z.string() }));
const abandonedAfterMs = 600_000;

/**
 * Makes the library links that the package's install script makes, where they are missing: npm 12 blocks install
 * scripts, and npm packages cannot hold links. False where they are missing and the folder may not be written.
 */
export async function completeLinks(native: string): Promise<boolean> {
  try {
    for (const { source, target } of await readLinks(native)) {
      // The list is relative to the package: "native/lib/libpq.so.5".
      const place = path.join(native, path.relative('native', target));
      await linkUnlessThere(path.basename(source), place);
    }
    return true;
  } catch (error) {
    if (['EACCES', 'EPERM', 'EROFS'].includes(codeOf(error) ?? '')) {
      return false;
    }
    throw error;
  }
}

/** Windows has no list and needs no links. */
async function readLinks(native: string): Promise<z.infer<typeof links>> {
  const text = await ifThere(readFile(path.join(native, 'pg-symlinks.json'), 'utf8'));
  return text === null ? [] : links.parse(JSON.parse(text));
}

/** Looks first: in a read-only folder even an existing link cannot be "made". */
async function linkUnlessThere(source: string, place: string): Promise<void> {
  if (await exists(place)) {
    return;
  }
  try {
    await symlink(source, place);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') {
      throw error;
    }
  }
}

/**
 * Copies the native tree (60 MB) to `target` once, links completed, readable and runnable by everybody who reaches it
 * at any umask. It appears as a whole or not at all; a copy that is there is taken as it is.
 */
export async function copyNativeTree(native: string, target: string): Promise<void> {
  if (await exists(target)) {
    return;
  }
  const draft = `${target}.new-${randomBytes(6).toString('hex')}`;
  await inWords(`PostgreSQL's programs could not be copied from ${native} to ${target}`, async () => {
    try {
      await removeAbandoned(target);
      await copyFolder(native, draft);
      await completeLinks(draft);
      await rename(draft, target);
    } catch (error) {
      await rm(draft, { recursive: true, force: true });
      if (!(await exists(target))) {
        throw error; // Otherwise somebody else's copy came first.
      }
    }
  });
}

/** What a copy left that was killed; old, since another data folder's start may be copying at this moment. */
async function removeAbandoned(target: string): Promise<void> {
  const parent = path.dirname(target);
  for (const name of await readdir(parent)) {
    const leftover = path.join(parent, name);
    if (
      leftover.startsWith(`${target}.new-`) &&
      Date.now() - (await stat(leftover)).mtimeMs > abandonedAfterMs
    ) {
      await rm(leftover, { recursive: true, force: true });
    }
  }
}

async function copyFolder(from: string, to: string): Promise<void> {
  await mkdir(to);
  await chmod(to, 0o755);
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, place] = [path.join(from, entry.name), path.join(to, entry.name)];
    if (entry.isDirectory()) {
      await copyFolder(source, place);
    } else if (entry.isSymbolicLink()) {
      await symlink(await readlink(source), place);
    } else {
      await copyFile(source, place);
      await chmod(place, ((await stat(source)).mode & 0o100) === 0 ? 0o644 : 0o755);
    }
  }
}

async function exists(file: string): Promise<boolean> {
  return (await ifThere(stat(file))) !== null;
}
