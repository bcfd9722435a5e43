import { closeSync, fchownSync, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { codeOf, troubleWith } from './plain-words.ts';
import type { FileOwner } from './private-file.ts';

const retryMs = 50;
const sqliteBusy = 5;

/**
 * Lets one process at a time, and one call at a time within it, start the server of a data folder.
 *
 * The lock is the kernel's, on the file `lockFile` (made 0600, never removed, always empty), so that it ends with its
 * process, also by kill -9: there is no stale lock to recognise. Node has no `flock`; an exclusive transaction of its
 * built-in SQLite is the one way to a kernel lock. Throws where somebody else still holds it after `limitMs`.
 */
export async function takeStartLock(
  lockFile: string,
  owner: FileOwner | null,
  limitMs: number,
): Promise<Disposable> {
  const deadline = performance.now() + limitMs;
  for (;;) {
    const lock = tryLock(lockFile, owner);
    if (lock !== null) {
      return lock;
    }
    if (performance.now() > deadline) {
      throw new Error(
        `Another process has been starting the embedded PostgreSQL for more than ${limitMs / 1000} s (it holds ${lockFile}).`,
      );
    }
    await sleep(retryMs);
  }
}

function tryLock(lockFile: string, owner: FileOwner | null): Disposable | null {
  let database: DatabaseSync | undefined;
  try {
    createLockFile(lockFile, owner);
    database = new DatabaseSync(lockFile, { timeout: 0 });
    // No journal on disk: nothing is written, and a full disk must not keep us from a server that runs.
    database.exec('pragma journal_mode = memory; begin exclusive');
    return database;
  } catch (error) {
    database?.close();
    if (error instanceof Error && 'errcode' in error && error.errcode === sqliteBusy) {
      return null;
    }
    throw troubleWith(`The start lock ${lockFile} could not be taken`, error);
  }
}

/**
 * Made by hand for its mode, and without a pause: closing any descriptor of the file ends this process's locks on it,
 * so it is opened only where it is new, and closed before anyone can lock it.
 */
function createLockFile(lockFile: string, owner: FileOwner | null): void {
  try {
    const descriptor = openSync(lockFile, 'wx', 0o600);
    if (owner !== null) {
      fchownSync(descriptor, owner.uid, owner.gid);
    }
    closeSync(descriptor);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') {
      throw error;
    }
  }
}
