import { createHash } from 'node:crypto';
import { chmod, mkdir, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { openTo, prepareDataFolder, type DataFolder } from './data-folder.ts';
import { ifThere } from './if-there.ts';
import { inWords } from './plain-words.ts';
import {
  canReach,
  isRoot,
  requireUserEntry,
  unprivilegedUser,
  userByUid,
  type SystemUser,
} from './system-user.ts';

/** Where the database cluster lies or will lie, and whom PostgreSQL runs as there. */
export interface ClusterPlace {
  readonly dataFolder: DataFolder;
  /** PostgreSQL's own data directory; absolute, without symlinks. */
  readonly clusterDir: string;
  /** Null: the process's own user, which is not root. */
  readonly user: SystemUser | null;
}

/** Where root puts what an unprivileged user must reach and the data folder or the project does not let it. */
export const systemFolder = '/var/lib/agent-knowledge';

/**
 * Settles place and user before anything is started. An ordinary user has the cluster in `<data folder>/postgres`.
 *
 * PostgreSQL refuses root, so root runs it as the owner of a cluster that exists, else as the owner of the data
 * folder, else as `postgres` or `nobody`. Where that user cannot reach the data folder, the cluster lies in
 * `/var/lib/agent-knowledge/<hash of the data folder's path>`.
 */
export async function settleClusterPlace(dataDir: string): Promise<ClusterPlace> {
  const dataFolder = await prepareDataFolder(dataDir);
  const inside = path.join(dataFolder.path, 'postgres');
  if (isRoot()) {
    return await settleAsRoot(dataFolder, inside);
  }
  requireUserEntry();
  return { dataFolder, clusterDir: inside, user: null };
}

async function settleAsRoot(dataFolder: DataFolder, inside: string): Promise<ClusterPlace> {
  const outside = path.join(systemFolder, hashOf(dataFolder.path));
  const existing = (await ownerOf(inside)) ?? (await ownerOf(outside));
  const user = await chooseUser(dataFolder, existing);
  const opened = await openTo(user, dataFolder);
  const clusterDir = existing?.folder ?? ((await canReach(user, opened.path)) ? inside : outside);
  if (clusterDir === outside) {
    await prepareSystemFolder();
  }
  if (!(await canReach(user, path.dirname(clusterDir)))) {
    throw new Error(
      `The database in ${clusterDir} belongs to the user ${user.name}, who may not pass through the folders above it; give those the mode o+x.`,
    );
  }
  return { dataFolder: opened, clusterDir, user };
}

/** Made with the mode that lets the unprivileged user through to its own folder, at any umask. */
export async function prepareSystemFolder(): Promise<void> {
  await inWords(`The folder ${systemFolder} could not be made`, async () => {
    await mkdir(systemFolder, { recursive: true, mode: 0o755 });
    await chmod(systemFolder, 0o755);
  });
}

async function chooseUser(
  dataFolder: DataFolder,
  existing: { folder: string; uid: number } | null,
): Promise<SystemUser> {
  if (existing !== null && existing.uid !== 0) {
    return await userByUid(existing.uid, `The database in ${existing.folder}`);
  }
  if (dataFolder.uid !== 0) {
    return await userByUid(dataFolder.uid, `The data folder ${dataFolder.path}`);
  }
  return await unprivilegedUser();
}

async function ownerOf(folder: string): Promise<{ folder: string; uid: number } | null> {
  const found = await ifThere(stat(folder));
  return found === null ? null : { folder: await realpath(folder), uid: found.uid };
}

function hashOf(folder: string): string {
  return createHash('sha256').update(folder).digest('hex').slice(0, 32);
}
