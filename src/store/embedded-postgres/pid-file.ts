import { execFile } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { ifThere } from './if-there.ts';
import { codeOf } from './plain-words.ts';

/** What PostgreSQL writes into `postmaster.pid` of the cluster it serves. */
export interface PidFile {
  readonly pid: number;
  readonly port: number;
  /** `ready` once it takes connections; null before it has said anything. */
  readonly state: string | null;
}

/** The pid file of a cluster; null where there is none, or only its first lines yet. */
export async function readPidFile(clusterDir: string): Promise<PidFile | null> {
  const lines = (await ifThere(readFile(pidFile(clusterDir), 'utf8')))?.split('\n') ?? [];
  const [pid, port] = [Number(lines[0]), Number(lines[3])];
  if (!Number.isInteger(pid) || pid <= 0) {
    return null;
  }
  return { pid, port: Number.isInteger(port) ? port : 0, state: lines[7]?.trim() ?? null };
}

/**
 * Takes away the pid file whose number now belongs to another process: of the same user, PostgreSQL would take that one
 * for its server and refuse to start. A number nobody has is left to PostgreSQL, which recognises it and also looks for
 * sessions that outlived their server. Only under the start lock, and never beside a live server.
 */
export async function removeForeignPidFile(clusterDir: string, pid: number): Promise<void> {
  if (isAlive(pid)) {
    await rm(pidFile(clusterDir), { force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}

/**
 * True where the process is a PostgreSQL server started on exactly this cluster. The number alone proves nothing: after
 * a crash it may belong to any other process by now. A dead process nobody waited for has no command line any more.
 */
export async function servesCluster(pid: number, clusterDir: string): Promise<boolean> {
  const [flag, folder] = clusterArguments(clusterDir);
  if (process.platform === 'linux') {
    const [program, ...args] = (await readCommandLine(pid)).split('\0');
    return path.basename(program ?? '') === 'postgres' && args[0] === flag && args[1] === folder;
  }
  if (process.platform === 'win32') {
    // Windows shows no arguments without a slow tool: the program's name has to do, the identity is asked for anyway.
    return (await ask('tasklist', ['/FI', `PID eq ${pid}`, '/NH', '/FO', 'CSV'])).includes('"postgres.exe"');
  }
  const command = await ask('ps', ['-ww', '-o', 'command=', '-p', String(pid)]);
  return command.includes(`postgres ${flag} ${folder} -c `);
}

/** The first arguments of a server: what it serves, and how it is recognised. */
export function clusterArguments(clusterDir: string): readonly [string, string] {
  return ['-D', clusterDir];
}

/** Arguments separated by NUL; empty where there is no such process, or it is hidden and so another user's. */
async function readCommandLine(pid: number): Promise<string> {
  try {
    return await readFile(`/proc/${pid}/cmdline`, 'utf8');
  } catch (error) {
    if (['ENOENT', 'ESRCH', 'EACCES', 'EPERM'].includes(codeOf(error) ?? '')) {
      return '';
    }
    throw error;
  }
}

async function ask(program: string, args: readonly string[]): Promise<string> {
  try {
    return (await promisify(execFile)(program, args)).stdout;
  } catch {
    return ''; // `ps` exits with 1 where there is no such process.
  }
}

function pidFile(clusterDir: string): string {
  return path.join(clusterDir, 'postmaster.pid');
}
