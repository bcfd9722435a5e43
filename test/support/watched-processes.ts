import { fork, type ChildProcess, type ForkOptions } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

/** A script of this folder as a process of its own; killed when disposed of. Resolves with its first message. */
export async function startScript(
  name: string,
  arguments_: readonly string[],
  options: ForkOptions = {},
): Promise<{ readonly child: ChildProcess; readonly first: unknown } & AsyncDisposable> {
  const child = fork(new URL(name, import.meta.url), arguments_, {
    execPath: process.execPath,
    execArgv: [],
    serialization: 'advanced',
    ...options,
  });
  const ended = once(child, 'exit');
  const first: unknown = await Promise.race([
    once(child, 'message').then(([message]) => message as unknown),
    ended.then(([code]) => Promise.reject(new Error(`${name} ended with ${code} before it said anything.`))),
  ]);
  return {
    child,
    first,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/** Whether the process exists and has not ended. */
export function isRunning(processId: number): boolean {
  try {
    return !/^\d+ \(.*\) [ZX]/s.test(readFileSync(`/proc/${processId}/stat`, 'latin1'));
  } catch {
    return false;
  }
}

export function countDescriptors(processId: number): number {
  return readdirSync(`/proc/${processId}/fd`).length;
}

/** The paths of the files and folders that a process has open now. */
export function openFiles(processId: number): string[] {
  const folder = `/proc/${processId}/fd`;
  return readdirSync(folder).flatMap((descriptor) => {
    try {
      return readlinkSync(`${folder}/${descriptor}`);
    } catch {
      return []; // Closed in between.
    }
  });
}

/** The most memory the process has ever held, in MiB. */
export function peakMemoryMib(processId: number): number {
  const [, kib = '0'] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${processId}/status`, 'latin1')) ?? [];
  return Number(kib) / 1024;
}

/** Kills with -9, of several that die of each other, also one that has ended already. */
export function killIfThere(processId: number): void {
  try {
    process.kill(processId, 'SIGKILL');
  } catch (error) {
    if ((error as { code?: string }).code !== 'ESRCH') throw error;
  }
}

/** Waits until it is so; fails after `limitMs`. */
export async function until(isSo: () => boolean, limitMs = 10_000): Promise<void> {
  const end = performance.now() + limitMs;
  while (!isSo()) {
    if (performance.now() > end) throw new Error(`Not so within ${limitMs} ms: ${isSo.toString()}.`);
    await sleep(5);
  }
}

/** The ids of the processes that this one has started and that live. */
export async function childrenOf(pid: number): Promise<number[]> {
  const ids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const parents = await Promise.all(
    ids.map(async (id) => {
      const stat = await readFile(`/proc/${id}/stat`, 'latin1').catch(() => '');
      return Number(/\) \S (\d+)/.exec(stat)?.[1]);
    }),
  );
  return ids.flatMap((id, at) => (parents[at] === pid ? Number(id) : []));
}
