import { execFile } from 'node:child_process';
import { mkdir, open, rm, statfs, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A small disk of its own that a test fills and grows. */
export interface Volume extends AsyncDisposable {
  readonly folder: string;
  /** Changes its size, or the number of files it takes, while it is in use. */
  resize(limits: VolumeLimits): Promise<void>;
  /** Fills it with a file of its own until so many bytes are left. */
  fill(leftBytes?: number): Promise<void>;
  /** Takes that file away again. */
  clear(): Promise<void>;
}

export interface VolumeLimits {
  readonly mebibytes?: number;
  readonly inodes?: number;
}

/** Mounts a tmpfs at a folder, which is made where it is missing. Only root can. */
export async function mountVolume(folder: string, limits: VolumeLimits): Promise<Volume> {
  await mkdir(folder, { recursive: true });
  await run('mount', ['-t', 'tmpfs', '-o', `mode=0755,${optionsOf(limits)}`, 'agent-knowledge-test', folder]);
  const ballast = join(folder, 'ballast');
  return {
    folder,
    resize: async (wanted) => void (await run('mount', ['-o', `remount,${optionsOf(wanted)}`, folder])),
    fill: async (leftBytes = 0) => fillFile(ballast, leftBytes),
    clear: () => rm(ballast, { force: true }),
    [Symbol.asyncDispose]: async () => void (await run('umount', ['--lazy', folder])),
  };
}

function optionsOf({ mebibytes, inodes }: VolumeLimits): string {
  return [
    ...(mebibytes === undefined ? [] : [`size=${mebibytes}m`]),
    ...(inodes === undefined ? [] : [`nr_inodes=${inodes}`]),
  ].join(',');
}

const block = Buffer.alloc(4096, 'x');

async function fillFile(file: string, leftBytes: number): Promise<void> {
  await using handle = await open(file, 'a');
  for (;;) {
    const { bavail, bsize } = await statfs(file);
    if (bavail * bsize <= leftBytes) return;
    try {
      await handle.appendFile(Buffer.alloc(Math.min(bavail * bsize - leftBytes, 1_048_576), 'x'));
    } catch (error) {
      // Somebody else took the rest in between.
      if ((error as { code?: string }).code !== 'ENOSPC') throw error;
      await handle.appendFile(block).catch(() => undefined);
      return;
    }
  }
}

/** Uses up the files that a volume takes, and answers how to give them back. */
export async function useUpInodes(folder: string): Promise<() => Promise<void>> {
  const names = join(folder, 'names');
  await mkdir(names);
  for (let number = 0; (await statfs(folder)).ffree > 0; number += 1) {
    await writeFile(join(names, String(number)), '').catch(() => undefined);
  }
  return () => rm(names, { recursive: true });
}

/** Whether this suite may mount: root may, unless a container forbids it. */
export async function canMount(): Promise<boolean> {
  if (process.getuid?.() !== 0) return false;
  const folder = join(tmpdir(), `ak-mount-${process.pid}`);
  try {
    await (await mountVolume(folder, { mebibytes: 1 }))[Symbol.asyncDispose]();
    return true;
  } catch {
    return false;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
