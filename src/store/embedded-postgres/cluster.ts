import { randomBytes } from 'node:crypto';
import { chown, mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import type { Binaries } from './binaries.ts';
import type { ClusterPlace } from './cluster-place.ts';
import {
  credentialsFile,
  newRoles,
  readCredentials,
  type Credentials,
  type RoleName,
} from './credentials.ts';
import { ifThere } from './if-there.ts';
import { inWords, reasonIn } from './plain-words.ts';
import { syncFolder, writePrivateFile } from './private-file.ts';
import { runProgram } from './program.ts';

/** UTF-8 whatever the environment says: without these, initdb makes a SQL_ASCII database where LANG is not set. */
const initdbArguments = [
  '--encoding=UTF8',
  '--locale-provider=builtin',
  '--builtin-locale=C.UTF-8',
  '--locale=C',
  '--auth-host=scram-sha-256',
  '--auth-local=reject',
  '--data-checksums',
  '--set=max_connections=100',
  '--set=shared_buffers=128MB',
  '--no-instructions',
  '--no-sync',
] as const;

/**
 * The credentials of the place's cluster, or null where there is none yet. Throws in plain words for a cluster of
 * another major version, for one whose credentials belong to another, and for a folder that is no cluster.
 */
export async function readCluster(place: ClusterPlace, binaries: Binaries): Promise<Credentials | null> {
  const { clusterDir } = place;
  const version = await inWords(`The database in ${clusterDir} could not be read`, () =>
    readVersion(clusterDir),
  );
  if (version === null) {
    return null;
  }
  requireVersion(version, clusterDir, binaries);
  const credentials = await readCredentials(clusterDir);
  const systemIdentifier = await readSystemIdentifier(clusterDir);
  if (systemIdentifier !== credentials.systemIdentifier) {
    throw new Error(
      `The credentials in ${credentialsFile(clusterDir)} belong to another database: expected system identifier ${credentials.systemIdentifier}, found ${systemIdentifier}.`,
    );
  }
  return credentials;
}

/** What `PG_VERSION` says; null where the folder is missing or empty. */
async function readVersion(clusterDir: string): Promise<string | null> {
  const version = await ifThere(readFile(path.join(clusterDir, 'PG_VERSION'), 'utf8'));
  if (version !== null) {
    return version.trim();
  }
  const names = (await ifThere(readdir(clusterDir))) ?? [];
  if (names.length > 0) {
    throw new Error('expected a PostgreSQL cluster, found other files and no PG_VERSION');
  }
  return null;
}

function requireVersion(found: string, clusterDir: string, { majorVersion }: Binaries): void {
  if (found !== majorVersion) {
    throw new Error(
      `The database in ${clusterDir} was made by PostgreSQL ${found}, and this build brings PostgreSQL ${majorVersion}, which cannot open it. Start it with the build that made it, or bring its content with the pg_dump of PostgreSQL ${majorVersion} into a new data folder.`,
    );
  }
}

/**
 * Makes the cluster: initdb, the roles, the database and the credentials, in a folder beside it that is renamed last.
 * A crash at any moment leaves no cluster, and a leftover that the next call removes. To be called under the start lock.
 */
export async function createCluster(place: ClusterPlace, binaries: Binaries): Promise<Credentials> {
  const { clusterDir } = place;
  return await inWords(`The database could not be created in ${clusterDir}`, async () => {
    await removeLeftovers(clusterDir);
    const workshop = `${clusterDir}.new-${randomBytes(6).toString('hex')}`;
    try {
      return await build(place, binaries, workshop);
    } finally {
      await removeFolder(workshop);
    }
  });
}

async function build(place: ClusterPlace, binaries: Binaries, workshop: string): Promise<Credentials> {
  await mkdir(workshop, { mode: 0o700 });
  if (place.user !== null) {
    await chown(workshop, place.user.uid, place.user.gid);
  }
  const draft = path.join(workshop, 'cluster');
  const roles = newRoles();
  await initialize(place, binaries, { draft, superuser: roles.superuser });
  await createRoles(place, binaries, { draft, roles });
  const systemIdentifier = await readSystemIdentifier(draft);
  const credentials: Credentials = { systemIdentifier, database: 'agent_knowledge', ...roles };
  await writePrivateFile(credentialsFile(draft), `${JSON.stringify(credentials, null, 2)}\n`, place.user);
  await syncToDisk(place, binaries, draft);
  await rename(draft, place.clusterDir);
  await syncFolder(path.dirname(place.clusterDir));
  return credentials;
}

async function initialize(
  place: ClusterPlace,
  binaries: Binaries,
  { draft, superuser: { user, password } }: { draft: string; superuser: Credentials['superuser'] },
): Promise<void> {
  const passwordFile = path.join(path.dirname(draft), 'password');
  await writePrivateFile(passwordFile, `${password}\n`, place.user);
  const { code, output } = await runProgram(
    binaries.initdb,
    [...initdbArguments, `--username=${user}`, `--pwfile=${passwordFile}`, '-D', draft],
    { user: place.user },
  );
  await rm(passwordFile);
  if (code !== 0) {
    throw new Error(`initdb stopped: ${reasonIn(output)}`);
  }
}

/** In single-user mode: no port is open before the passwords are set, and none of them is seen in a process list. */
async function createRoles(
  place: ClusterPlace,
  binaries: Binaries,
  { draft, roles }: { draft: string; roles: Pick<Credentials, RoleName> },
): Promise<void> {
  const { admin, login } = roles;
  const input = [
    `create role ${admin.user} login createrole password '${admin.password}'`,
    `create role ${login.user} login password '${login.password}'`,
    `create database agent_knowledge owner ${admin.user} encoding 'UTF8' template template0`,
    '',
  ].join('\n');
  const settings = ['fsync=off', 'exit_on_error=on', 'log_min_error_statement=panic', 'log_checkpoints=off'];
  const { code, output } = await runProgram(
    binaries.postgres,
    ['--single', '-D', draft, ...settings.flatMap((setting) => ['-c', setting]), 'postgres'],
    { user: place.user, input },
  );
  if (code !== 0) {
    throw new Error(`the roles could not be made: ${reasonIn(output)}`);
  }
}

/** Once, before the rename makes the cluster count: until then a power loss costs nothing but the start. */
async function syncToDisk(place: ClusterPlace, binaries: Binaries, draft: string): Promise<void> {
  const { code, output } = await runProgram(binaries.initdb, ['--sync-only', '-D', draft], {
    user: place.user,
  });
  if (code !== 0) {
    throw new Error(`the new database could not be written to disk: ${reasonIn(output)}`);
  }
}

/** `pg_control` begins with the identifier, 8 bytes in the machine's order: little-endian on every platform we have. */
async function readSystemIdentifier(clusterDir: string): Promise<string> {
  await using control = await open(path.join(clusterDir, 'global', 'pg_control'), 'r');
  const { buffer } = await control.read(Buffer.alloc(8), 0, 8, 0);
  return buffer.readBigUInt64LE().toString();
}

async function removeLeftovers(clusterDir: string): Promise<void> {
  const parent = path.dirname(clusterDir);
  for (const name of await readdir(parent)) {
    const leftover = path.join(parent, name);
    if (leftover.startsWith(`${clusterDir}.new-`)) {
      await removeFolder(leftover);
    }
  }
}

/** As far as it goes: an initdb that outlived its killed starter may be writing still, and then the next start removes it. */
async function removeFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true, maxRetries: 3 }).catch(() => undefined);
}
