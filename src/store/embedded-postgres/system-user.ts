import { stat } from 'node:fs/promises';
import { userInfo } from 'node:os';
import path from 'node:path';
import { codeOf } from './plain-words.ts';
import { runProgram } from './program.ts';

/** An existing user of the operating system, with the group it gets: never root. */
export interface SystemUser {
  readonly uid: number;
  readonly gid: number;
  readonly name: string;
}

const wayOut =
  'Run as a user that has one, add an entry for it to the user database (/etc/passwd), or set AGENT_KNOWLEDGE_DATABASE_URL to a PostgreSQL server of your own.';

/** True where the process runs as root, which PostgreSQL refuses to run as. */
export function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/** Throws in plain words where this process's user has no passwd entry: `initdb` asks for its name and stops. */
export function requireUserEntry(lookUp: () => unknown = userInfo): void {
  try {
    lookUp();
  } catch (error) {
    throw new Error(
      `PostgreSQL needs an entry in the user database for the user it runs as, and uid ${process.getuid?.()} has none. ${wayOut}`,
      { cause: error },
    );
  }
}

/** The user behind a uid; throws in plain words, naming `what` belongs to it, where the user database knows none. */
export async function userByUid(uid: number, what: string): Promise<SystemUser> {
  const user = await findUser(String(uid));
  if (user === null) {
    throw new Error(
      `${what} belongs to uid ${uid}, which has no entry in the user database, and PostgreSQL needs one for the user it runs as. ${wayOut}`,
    );
  }
  return user;
}

/** Whom root runs PostgreSQL as where the data folder's owner says nothing: `postgres`, else `nobody`. */
export async function unprivilegedUser(): Promise<SystemUser> {
  const user = (await findUser('postgres')) ?? (await findUser('nobody'));
  if (user === null) {
    throw new Error(
      `PostgreSQL refuses to run as root, and neither "postgres" nor "nobody" is a user here. ${wayOut}`,
    );
  }
  return user;
}

/**
 * True where a user other than root may pass through `folder` and every folder above it, by their mode bits. Access
 * lists are not read: where they give more than the mode, the answer is a cautious "no".
 */
export async function canReach(user: SystemUser, folder: string): Promise<boolean> {
  const { uid, gid, mode } = await stat(folder);
  const passes = uid === user.uid ? mode & 0o100 : gid === user.gid ? mode & 0o010 : mode & 0o001;
  if (passes === 0) {
    return false;
  }
  const parent = path.dirname(folder);
  return parent === folder || (await canReach(user, parent));
}

/** `id` knows the users of every directory service, which /etc/passwd does not; it takes names and numbers. */
async function findUser(nameOrUid: string): Promise<SystemUser | null> {
  const [uid, gid, name] = await Promise.all(['-u', '-g', '-un'].map((flag) => askId(flag, nameOrUid)));
  if (uid === undefined || gid === undefined || name === undefined || Number(uid) === 0) {
    return null;
  }
  // macOS prints nobody's -2 as an unsigned number; spawn takes the signed one.
  return { uid: Number(uid) | 0, gid: Number(gid) | 0, name };
}

async function askId(flag: string, nameOrUid: string): Promise<string | undefined> {
  try {
    const { code, output } = await runProgram('id', [flag, nameOrUid], { user: null });
    return code === 0 ? output.trim() : undefined;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') {
      return undefined;
    }
    throw error;
  }
}
