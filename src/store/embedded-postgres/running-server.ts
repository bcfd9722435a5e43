import { setTimeout as sleep } from 'node:timers/promises';
import type { Binaries } from './binaries.ts';
import type { ClusterPlace } from './cluster-place.ts';
import type { Credentials } from './credentials.ts';
import { refuseForeignServer } from './foreign-server.ts';
import { findFreePort } from './free-port.ts';
import { requireIdentity } from './identity.ts';
import { readPidFile, removeForeignPidFile, servesCluster, type PidFile } from './pid-file.ts';
import { reasonIn } from './plain-words.ts';
import { readServerLog, serverLogOf } from './server-log.ts';
import { adoptServer, launchServer, type LaunchedServer, type ServerProcess } from './server-process.ts';
import { stopServer } from './stop-server.ts';

/** The cluster's server, proved to be it. */
export interface RunningServer extends ServerProcess {
  readonly port: number;
  readonly adopted: boolean;
}

/** What a start needs to know. */
export interface ServerStart {
  readonly place: ClusterPlace;
  readonly binaries: Binaries;
  readonly credentials: Credentials;
  /** Where it listened last time: taken again if it is free, so that addresses written down stay good. */
  readonly preferredPort: number | null;
  /** The port it must have, since its address is in use; null: any. */
  readonly requiredPort: number | null;
}

const maxAttempts = 8;
const retryMs = 500;
const readyLimitMs = 120_000;
const pollMs = 10;

/**
 * Uses the cluster's server where one runs (an orphan of a killed process), else starts one; to be called under the
 * start lock. Only a live process started on this very cluster counts as its server.
 *
 * Throws in plain words where the server stops, finds no port, does not get ready within 120 s (it goes on, and the
 * next call adopts it), or is not the database it should be, and where another PostgreSQL has the port it had last.
 */
export async function adoptOrLaunch(start: ServerStart): Promise<RunningServer> {
  let preferredPort = start.preferredPort;
  for (let attempt = 1; ; attempt += 1) {
    const server = (await adopt(start)) ?? (await launch(start, await choosePort(start, preferredPort)));
    if (typeof server !== 'string') {
      return server;
    }
    if (attempt === maxAttempts) {
      throw new Error(`PostgreSQL did not start in ${maxAttempts} attempts: ${server}.`);
    }
    preferredPort = null;
    await sleep(retryMs);
  }
}

async function choosePort(
  { credentials, requiredPort }: ServerStart,
  preferredPort: number | null,
): Promise<number> {
  const wanted = requiredPort ?? preferredPort;
  if (wanted !== null) await refuseForeignServer(credentials, wanted);
  const port = await findFreePort(wanted);
  if (requiredPort === null || port === requiredPort) return port;
  throw new Error(
    `The port ${requiredPort} on 127.0.0.1, at which PostgreSQL is expected, is in use by another program. Stop that program.`,
  );
}

async function adopt(start: ServerStart): Promise<RunningServer | null> {
  const { clusterDir } = start.place;
  const found = await readPidFile(clusterDir);
  if (found === null) {
    return null;
  }
  const ready = await untilReady(found.pid, clusterDir);
  if (ready === null) {
    await removeForeignPidFile(clusterDir, found.pid);
    return null;
  }
  await requireIdentity(start.credentials, ready.port, nameOf(ready, clusterDir));
  if (start.requiredPort !== null && ready.port !== start.requiredPort) {
    throw new Error(`${nameOf(ready, clusterDir)} was expected on port ${start.requiredPort}. Stop it.`);
  }
  return { ...adoptServer(ready.pid, clusterDir), port: ready.port, adopted: true };
}

/** A string says why it did not start this time, where another attempt helps. */
async function launch(start: ServerStart, port: number): Promise<RunningServer | string> {
  const { place, binaries, credentials } = start;
  const server = await launchServer(place, binaries, port);
  const ready = await untilReady(server.pid, place.clusterDir);
  if (ready === null) {
    return await explainExit(server, place);
  }
  try {
    await requireIdentity(credentials, port, nameOf(ready, place.clusterDir));
  } catch (error) {
    await stopServer(server.pid, place.clusterDir, binaries);
    throw error;
  }
  return { ...server, port, adopted: false };
}

/** Waits while the process serves the cluster and is not ready yet; null once it does not serve it (any more). */
async function untilReady(pid: number, clusterDir: string): Promise<PidFile | null> {
  const deadline = performance.now() + readyLimitMs;
  while (await servesCluster(pid, clusterDir)) {
    const found = await readPidFile(clusterDir);
    if (found?.pid === pid && found.state === 'ready') {
      return found;
    }
    if (performance.now() > deadline) {
      throw new Error(
        `PostgreSQL (process ${pid}, ${clusterDir}) is not ready after ${readyLimitMs / 1000} s: ${found?.state ?? 'it says nothing'}. It goes on; start again to use it.`,
      );
    }
    await sleep(pollMs);
  }
  return null;
}

/** Taken ports, another server that was first on this cluster, and sessions that outlive a killed server, go away. */
const passing = /could not bind|lock file "postmaster\.pid" already exists|pre-existing shared memory block/;

async function explainExit(server: LaunchedServer, place: ClusterPlace): Promise<string> {
  const { code, signal } = await server.waitForExit();
  const said = await readServerLog(place, server.logStart);
  if (passing.test(said)) {
    return reasonIn(said);
  }
  throw new Error(
    `PostgreSQL stopped while starting on ${place.clusterDir} (${signal ?? `exit code ${code}`}): ${reasonIn(said)}. See ${serverLogOf(place)}.`,
  );
}

function nameOf({ pid, port }: PidFile, clusterDir: string): string {
  return `The server of ${clusterDir} (process ${pid}, 127.0.0.1:${port})`;
}
