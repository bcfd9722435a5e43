import { chmod, chown, mkdir, readdir, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { codeOf, inWords } from './plain-words.ts';
import type { FileOwner } from './private-file.ts';
import { canReach, isRoot, type SystemUser } from './system-user.ts';

/** The product's data folder, existing and as private as it may be made. */
export interface DataFolder {
  /** Absolute, without symlinks. */
  readonly path: string;
  readonly uid: number;
  readonly gid: number;
  /** True where it holds nothing but what this product puts there: only then its owner and mode are ours to set. */
  readonly isOurs: boolean;
}

/** What may lie in a data folder of ours before the first start (`lost+found`: it is a volume of its own; the test suite leaves its report). */
const ourNames =
  /^(?:postgres|postgres\..+|postgresql-.+|admin-key|checkpoints|knowledge|test-report\.json|lost\+found)$/;

/**
 * Makes the data folder where it is missing, mode 0700 at any umask, and narrows one of ours to it. A folder with
 * other things in it keeps its mode, and is refused where others could write into it: they could plant passwords.
 */
export async function prepareDataFolder(dataDir: string): Promise<DataFolder> {
  return await inWords(`The data folder ${dataDir} could not be prepared`, async () => {
    await makeFolder(dataDir);
    const real = await realpath(dataDir);
    const { uid, gid, mode } = await stat(real);
    const isOurs = await holdsOnlyOurs(real);
    requirePrivate(real, mode, isOurs);
    const mayNarrow = isRoot() || uid === process.getuid?.();
    // A cluster that lies in root's folder belongs to a user who must get through to it.
    const mustPass = uid === 0 && (await belongsToAnother(path.join(real, 'postgres'), uid));
    if (isOurs && mayNarrow && !mustPass && (mode & 0o777) !== 0o700) {
      await chmod(real, 0o700);
    }
    return { path: real, uid, gid, isOurs };
  });
}

/**
 * For root: hands a data folder of ours that belongs to root to the user PostgreSQL runs as, so that the database can
 * lie inside (and stays on the folder's volume). Only where the folders above it let that user through.
 */
export async function openTo(user: SystemUser, folder: DataFolder): Promise<DataFolder> {
  const above = path.dirname(folder.path);
  if (folder.uid !== 0 || !folder.isOurs || !(await canReach(user, above))) {
    return folder;
  }
  await inWords(`The data folder ${folder.path} could not be given to the user ${user.name}`, () =>
    chown(folder.path, user.uid, user.gid),
  );
  return { ...folder, uid: user.uid, gid: user.gid };
}

/** Whom root gives the files it makes in the folder to: the folder's owner, who could replace them anyway. */
export function fileOwnerIn(folder: DataFolder): FileOwner | null {
  return isRoot() && folder.uid !== 0 ? { uid: folder.uid, gid: folder.gid } : null;
}

/** The folder itself not by `recursive`, which tells a read-only parent as a missing one. */
async function makeFolder(folder: string): Promise<void> {
  await mkdir(path.dirname(folder), { recursive: true, mode: 0o755 });
  try {
    await mkdir(folder, { mode: 0o700 });
  } catch (error) {
    if (codeOf(error) !== 'EEXIST' || !(await stat(folder)).isDirectory()) {
      throw error;
    }
  }
}

async function belongsToAnother(folder: string, uid: number): Promise<boolean> {
  try {
    return (await stat(folder)).uid !== uid;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false;
    throw error;
  }
}

async function holdsOnlyOurs(folder: string): Promise<boolean> {
  const names = await readdir(folder);
  return names.includes('postgres.json') || names.every((name) => ourNames.test(name));
}

function requirePrivate(folder: string, mode: number, isOurs: boolean): void {
  const isShared = (mode & 0o1000) !== 0;
  const othersWrite = (mode & 0o022) !== 0;
  if (isShared || (othersWrite && !isOurs)) {
    throw new Error(
      `expected a folder of its own that nobody else can write into, found mode ${(mode & 0o7777).toString(8)} ${isShared ? 'shared by all users' : 'and other things in it'}; name another one in AGENT_KNOWLEDGE_DATA_DIR, such as ${path.join(folder, 'agent-knowledge')}`,
    );
  }
}
