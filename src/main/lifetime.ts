import { spawn } from 'node:child_process';
import { v7 as uuidv7 } from 'uuid';
import type { Logger } from '../core/logger.ts';
import type { ScreenLine } from './screen-line.ts';

/** The exit code of a process that a second signal has ended at once. */
export const endedAtOnce = 130;

/** One Ctrl-C reaches this process from the terminal and again from npm, which passes it on. */
const sameSignalMs = 500;

/**
 * Resolves with the reason when this process should end: a signal, or the end of the parent that started it. A second
 * signal ends it at once.
 */
export function untilAskedToStop(): Promise<string> {
  return new Promise((resolve) => {
    let askedAt: number | null = null;
    const ask = (reason: string) => {
      if (askedAt !== null && performance.now() - askedAt > sameSignalMs) exitForSure(endedAtOnce);
      askedAt ??= performance.now();
      resolve(reason);
    };
    process.on('SIGINT', () => ask('SIGINT'));
    process.on('SIGTERM', () => ask('SIGTERM'));
    process.on('SIGHUP', () => ask('SIGHUP'));
    if (process.send) {
      process.on('disconnect', () => ask('the parent ended'));
      // It may have ended while this process was still being loaded, when nobody listened.
      if (!process.connected) ask('the parent ended');
      // Our log goes to the parent too: what cannot be told to it any more must not end us before we have let go.
      process.stderr.on('error', () => undefined);
    }
  });
}

/**
 * Ends this process now. `process.exit` alone waits for file calls under way, and one on a dead network share never comes
 * back (F58): then a kill from outside ends what has not ended within a second.
 */
function exitForSure(code: number): never {
  if (process.platform !== 'win32') {
    const killer = spawn('/bin/sh', ['-c', 'sleep 1; kill -9 "$0" 2>/dev/null', String(process.pid)], {
      detached: true,
      stdio: 'ignore',
      env: { PATH: '/usr/bin:/bin' },
    });
    killer.on('error', () => undefined);
    killer.unref();
  }
  return process.exit(code);
}

/** What sysexits.h calls EX_SOFTWARE. */
const faultOfOurs = 70;

/**
 * An error that nobody awaits ends this process at once: it is logged with an id, and nothing lives on by halves (F12).
 * What was under way is as after a kill: done or not done, and asked for again.
 */
export function endOnUnawaitedErrors(logger: Logger): void {
  const end = (what: string) => (error: unknown) => {
    const words = error instanceof Error ? error.stack : String(error);
    logger.error(`The process ends: ${what}.`, { errorId: uuidv7(), error: words });
    exitForSure(faultOfOurs);
  };
  process.on('uncaughtException', end('an exception was caught by nobody'));
  process.on('unhandledRejection', end('a rejection was awaited by nobody'));
}

/** How long a process may take to end, in milliseconds; the one that started it kills it at 15 s. */
const endsWithinMs = 13_000;

/** Ends this process with an error where it has not ended by itself in time after it was asked to. */
export async function endInTime(stop: Promise<string>, logger: Logger): Promise<void> {
  await stop;
  const end = () => {
    logger.error(`The process ends: it was asked to stop and did not within ${endsWithinMs / 1000} s.`);
    exitForSure(faultOfOurs);
  };
  setTimeout(end, endsWithinMs).unref();
}

/** What a child process tells the one that started it. */
export type ChildMessage =
  | { readonly type: 'ready'; readonly url?: string; readonly port?: number }
  | ({ readonly type: 'line' } & ScreenLine);

/** Tells the parent, where there is one. */
export function tellParent(message: ChildMessage): void {
  if (process.connected) process.send?.(message);
}

/** A library may go on waiting for a server that never answers. */
const othersMs = 1500;

/**
 * Ends the process soon after everything of ours has been let go, though a library still waits; nothing happens where nobody
 * does.
 */
export function endDespiteOthers(): void {
  setTimeout(() => process.exit(), othersMs).unref();
}
