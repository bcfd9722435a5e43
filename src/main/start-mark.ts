import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileOwnerIn, prepareDataFolder } from '../store/embedded-postgres/data-folder.ts';
import { writePrivateFile } from '../store/embedded-postgres/private-file.ts';

/**
 * Notes in a data folder that this process is its `start`, so that other commands can tell a database that is on its way
 * from one that nobody starts. A hint for messages: who may start is decided by the database's own lock.
 */
export async function markStart(dataDir: string): Promise<AsyncDisposable> {
  // Not in the place of another one's, which runs and is about to refuse us.
  const isMarked = (await findStart(dataDir)) === null && (await writeMark(dataDir));
  return {
    async [Symbol.asyncDispose]() {
      if (isMarked) await rm(markFile(dataDir), { force: true });
    },
  };
}

/** What keeps it from being written is told by the database's start, if it matters there too; a full disk does not keep us from a server that runs. */
async function writeMark(dataDir: string): Promise<boolean> {
  try {
    const folder = await prepareDataFolder(dataDir);
    await writePrivateFile(markFile(dataDir), String(process.pid), fileOwnerIn(folder));
    return true;
  } catch {
    return false;
  }
}

/** The process id of the `start` that runs on a data folder; null where none is known to. */
export async function findStart(dataDir: string): Promise<number | null> {
  const pid = Number(await readMark(dataDir));
  return Number.isSafeInteger(pid) && pid > 0 && (await isStart(pid)) ? pid : null;
}

async function readMark(dataDir: string): Promise<string> {
  try {
    return await readFile(markFile(dataDir), 'utf8');
  } catch {
    return ''; // Not there, or another user's: then nothing is known.
  }
}

/** One that was killed leaves its mark, and its number may be another program's by now. */
async function isStart(pid: number): Promise<boolean> {
  if (process.platform === 'linux') {
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => ''); // It has ended.
    return command.split('\0').includes('start');
  }
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Beside the database's other files, where a data folder of ours may have it. */
function markFile(dataDir: string): string {
  return join(dataDir, 'postgres.start');
}
