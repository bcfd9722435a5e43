import { spawn } from 'node:child_process';
import path from 'node:path';
import type { SystemUser } from './system-user.ts';

/** How a program ended: its exit code or the signal that ended it, and the last 64 KiB of what it printed. */
export interface ProgramResult {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly output: string;
}

const maxOutputCharacters = 65_536;

/**
 * The whole environment of every PostgreSQL program: nothing of ours, so no secret, is in it. The locale is `C` since
 * the cluster brings its own (`C.UTF-8` is missing on some systems); the path is for `initdb`, which starts `postgres`.
 */
export function programEnvironment(): NodeJS.ProcessEnv {
  const windows = process.env['SystemRoot'];
  const base = { LANG: 'C', LC_ALL: 'C', TZ: 'UTC' };
  return windows === undefined
    ? { ...base, PATH: '/usr/bin:/bin' }
    : { ...base, SystemRoot: windows, PATH: path.win32.join(windows, 'System32') };
}

/**
 * What every PostgreSQL program is spawned with: the reduced environment, the user, and the root folder as working
 * folder, since the user may not be allowed into ours. Node drops all supplementary groups together with the user id.
 */
export function spawnBasics(user: SystemUser | null): {
  env: NodeJS.ProcessEnv;
  cwd: string;
  uid?: number;
  gid?: number;
} {
  const basics = { env: programEnvironment(), cwd: path.parse(process.execPath).root };
  return user === null ? basics : { ...basics, uid: user.uid, gid: user.gid };
}

/**
 * Runs a program to its end, without a shell, as `user` (null: as the process's own user).
 *
 * `input` goes to its standard input. Rejects where the program cannot be started at all; an exit code other than 0
 * is a result.
 */
export async function runProgram(
  file: string,
  args: readonly string[],
  options: { user: SystemUser | null; input?: string },
): Promise<ProgramResult> {
  const { promise, resolve, reject } = Promise.withResolvers<ProgramResult>();
  const child = spawn(file, args, { ...spawnBasics(options.user), stdio: 'pipe' });
  let output = '';
  const keep = (chunk: string): void => {
    output = (output + chunk).slice(-maxOutputCharacters);
  };
  child.stdout.setEncoding('utf8').on('data', keep);
  child.stderr.setEncoding('utf8').on('data', keep);
  // A program that ends early closes its input: its exit code tells the story, not our broken pipe.
  child.stdin.on('error', () => undefined);
  child.stdin.end(options.input ?? '');
  child.on('error', reject);
  child.on('close', (code, signal) => {
    resolve({ code, signal, output });
  });
  return await promise;
}
