import { readdirSync, readFileSync } from 'node:fs';
import { isRunning, until } from '../watched-processes.ts';

/** The processes that a PostgreSQL server has started, backends and helpers, with the titles they give themselves. */
export function processesOf(postmaster: number): { pid: number; title: string }[] {
  return readdirSync('/proc').flatMap((name) => {
    const pid = Number(name);
    if (!Number.isInteger(pid) || parentOf(pid) !== postmaster) return [];
    return [{ pid, title: titleOf(pid) }];
  });
}

/** Kills a server and all its processes in one stroke: what it holds in shared memory is gone, as at a loss of power. */
export function killServer(postmaster: number): void {
  // Stopped first, so that it starts no other process meanwhile.
  process.kill(postmaster, 'SIGSTOP');
  for (const pid of [...processesOf(postmaster).map((child) => child.pid), postmaster]) killIfThere(pid);
}

/** Kills one backend that serves a client; the server then ends all others and recovers. Answers its id. */
export function killBackend(postmaster: number): number {
  const backends = processesOf(postmaster).filter(({ title }) => title.includes('127.0.0.1('));
  const victim = backends[Math.floor(Math.random() * backends.length)];
  if (victim === undefined)
    throw new Error(`Expected server ${postmaster} to serve somebody; found no backend.`);
  killIfThere(victim.pid);
  return victim.pid;
}

/** Resolves when a process has ended; the handle of a server does not keep a program alive that waits for it. */
export async function untilGone(pid: number): Promise<void> {
  await until(() => !isRunning(pid));
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as { code?: string }).code !== 'ESRCH') throw error;
  }
}

function parentOf(pid: number): number | null {
  const stat = readIfThere(`/proc/${pid}/stat`);
  const [, parent] = /^\d+ \(.*\) \S (\d+)/s.exec(stat) ?? [];
  return parent === undefined ? null : Number(parent);
}

function titleOf(pid: number): string {
  return readIfThere(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim();
}

/** A process may end while it is being looked at. */
function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}
