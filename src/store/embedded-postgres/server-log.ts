import { constants } from 'node:fs';
import { open, rename, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import type { ClusterPlace } from './cluster-place.ts';
import { fileOwnerIn } from './data-folder.ts';
import { inWords } from './plain-words.ts';

const maxLogBytes = 1_048_576;
const maxReadBytes = 65_536;

/** `<data folder>/postgres.log`, mode 0600: all the server says. */
export function serverLogOf(place: ClusterPlace): string {
  return path.join(place.dataFolder.path, 'postgres.log');
}

/**
 * Opens the log to append, to be handed to the server: its user needs no access of its own. Past 1 MiB it is set aside
 * as `postgres.log.1` first, in place of the one before.
 */
export async function openServerLog(place: ClusterPlace): Promise<FileHandle> {
  const file = serverLogOf(place);
  return await inWords(`The server's log ${file} could not be opened`, async () => {
    const log = await openToAppend(file, place);
    if ((await log.stat()).size <= maxLogBytes) {
      return log;
    }
    await log.close();
    await rename(file, `${file}.1`);
    return await openToAppend(file, place);
  });
}

/** What the log holds from a byte on, at most 64 KiB. */
export async function readServerLog(place: ClusterPlace, fromByte: number): Promise<string> {
  await using handle = await open(serverLogOf(place), 'r');
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(maxReadBytes), 0, maxReadBytes, fromByte);
  return buffer.toString('utf8', 0, bytesRead);
}

async function openToAppend(file: string, place: ClusterPlace): Promise<FileHandle> {
  // O_NOFOLLOW: root opens it in a folder that may belong to somebody else. Windows has none, and no root.
  const flags = constants.O_APPEND | constants.O_CREAT | constants.O_WRONLY | constants.O_NOFOLLOW;
  const log = await open(file, flags, 0o600);
  const owner = fileOwnerIn(place.dataFolder);
  if (owner !== null) {
    await log.chown(owner.uid, owner.gid);
  }
  return log;
}
