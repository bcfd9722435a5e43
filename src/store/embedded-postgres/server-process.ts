import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Binaries } from './binaries.ts';
import type { ClusterPlace } from './cluster-place.ts';
import { clusterArguments, servesCluster } from './pid-file.ts';
import { spawnBasics } from './program.ts';
import { openServerLog } from './server-log.ts';

/** How a server ended; both null where it was adopted: its exit code goes to another process. */
export interface ServerExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A server process, ours or adopted. */
export interface ServerProcess {
  readonly pid: number;
  /** Does not keep this process alive. */
  readonly exited: Promise<ServerExit>;
  /** The same, keeping this process alive until then. */
  waitForExit(): Promise<ServerExit>;
}

/** A server process this process started; what it says is in the log from `logStart` (bytes) on. */
export interface LaunchedServer extends ServerProcess {
  readonly logStart: number;
}

/**
 * What is promised, on the command line and so above every file and `alter system`; what may be tuned (connections,
 * memory) is in the cluster's `postgresql.conf`. The log holds no statement, no parameter and no row: a row that
 * violates a constraint would be quoted in the message's detail, so the log is terse.
 */
const promisedSettings = [
  'listen_addresses=127.0.0.1',
  'unix_socket_directories=',
  'fsync=on',
  'full_page_writes=on',
  'synchronous_commit=on',
  'password_encryption=scram-sha-256',
  'client_connection_check_interval=2s',
  'logging_collector=off',
  'log_destination=stderr',
  'log_line_prefix=%m [%p] ',
  'log_timezone=UTC',
  'timezone=UTC',
  'log_lock_waits=on',
  'log_checkpoints=off',
  'log_statement=none',
  'log_min_duration_statement=-1',
  'log_min_error_statement=panic',
  'log_error_verbosity=terse',
  'log_parameter_max_length=0',
  'log_parameter_max_length_on_error=0',
] as const;

const adoptedPollMs = 200;

/**
 * Starts the server on a port, in a process session of its own: Ctrl-C reaches us and not the server, and the server
 * outlives us. It writes into a file, since a pipe would kill it with SIGPIPE once we are gone.
 */
export async function launchServer(
  place: ClusterPlace,
  binaries: Binaries,
  port: number,
): Promise<LaunchedServer> {
  await using log = await openServerLog(place);
  const logStart = (await log.stat()).size;
  const settings = [...promisedSettings, `port=${port}`].flatMap((setting) => ['-c', setting]);
  const child = spawn(binaries.postgres, [...clusterArguments(place.clusterDir), ...settings], {
    ...spawnBasics(place.user),
    detached: true,
    stdio: ['ignore', log.fd, log.fd],
  });
  const { promise: exited, resolve } = Promise.withResolvers<ServerExit>();
  child.once('exit', (code, signal) => {
    resolve({ code, signal });
  });
  await once(child, 'spawn');
  child.unref();
  const waitForExit = async (): Promise<ServerExit> => {
    child.ref();
    return await exited;
  };
  return { pid: child.pid ?? 0, exited, waitForExit, logStart };
}

/** A server that another process started: its end is noticed within 200 ms. */
export function adoptServer(pid: number, clusterDir: string): ServerProcess {
  const { promise: exited, resolve } = Promise.withResolvers<ServerExit>();
  const look = async (): Promise<void> => {
    if (!(await servesCluster(pid, clusterDir))) {
      clearInterval(timer);
      resolve({ code: null, signal: null });
    }
  };
  const timer = setInterval(() => {
    look().catch(() => undefined); // Not seen this time: the next look is near.
  }, adoptedPollMs);
  timer.unref();
  const waitForExit = async (): Promise<ServerExit> => {
    timer.ref();
    return await exited;
  };
  return { pid, exited, waitForExit };
}
