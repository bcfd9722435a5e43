import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileOwnerIn, prepareDataFolder } from '../store/embedded-postgres/data-folder.ts';
import { writePrivateFile } from '../store/embedded-postgres/private-file.ts';

/** What says that a `start` runs, until it is disposed of. */
export interface StartMark extends AsyncDisposable {
  /** Adds where browsers reach the API, once it answers. */
  addUrl(url: string): Promise<void>;
}

/**
 * Notes in a data folder that this process is its `start`, so that other commands can tell a database that is on its way
 * from one that nobody starts, and where the API is. A hint: who may start is decided by the database's own lock.
 */
export async function markStart(dataDir: string): Promise<StartMark> {
  // Not in the place of another one's, which runs and is about to refuse us.
  const isMarked = (await findStart(dataDir)) === null && (await writeMark(dataDir, null));
  return {
    async addUrl(url) {
      if (isMarked) await writeMark(dataDir, url);
    },
    async [Symbol.asyncDispose]() {
      if (isMarked) await rm(markFile(dataDir), { force: true });
    },
  };
}

/** What keeps it from being written is told by the database's start, if it matters there too; a full disk does not keep us from a server that runs. */
async function writeMark(dataDir: string, url: string | null): Promise<boolean> {
  try {
    const folder = await prepareDataFolder(dataDir);
    const lines = url === null ? [process.pid] : [process.pid, url];
    await writePrivateFile(markFile(dataDir), lines.join('\n'), fileOwnerIn(folder));
    return true;
  } catch {
    return false;
  }
}

/** The process id of the `start` that runs on a data folder; null where none is known to. */
export async function findStart(dataDir: string): Promise<number | null> {
  return (await readMark(dataDir))?.pid ?? null;
}

/** Where browsers reach the API of the `start` that runs on a data folder; null where that is not known, or not yet. */
export async function findStartUrl(dataDir: string): Promise<string | null> {
  return (await readMark(dataDir))?.url ?? null;
}

/** The process id on the first line, the address on the second. */
async function readMark(
  dataDir: string,
): Promise<{ readonly pid: number; readonly url: string | null } | null> {
  const [first, url = ''] = (await readMarkFile(dataDir)).split('\n');
  const pid = Number(first);
  if (!Number.isSafeInteger(pid) || pid <= 0 || !(await isStart(pid))) return null;
  return { pid, url: /^https?:/.test(url) && URL.canParse(url) ? url : null };
}

async function readMarkFile(dataDir: string): Promise<string> {
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
