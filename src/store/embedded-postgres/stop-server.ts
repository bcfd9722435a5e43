import { setTimeout as sleep } from 'node:timers/promises';
import type { Binaries } from './binaries.ts';
import { servesCluster } from './pid-file.ts';
import { codeOf } from './plain-words.ts';
import { runProgram } from './program.ts';

const steps = [
  { signal: 'INT', limitMs: 15_000 }, // Fast: sessions are ended, the work is written out.
  { signal: 'QUIT', limitMs: 10_000 }, // Immediate: the next start repeats it from the write-ahead log.
] as const;
const pollMs = 10;

/**
 * Stops the server of a cluster and waits for its end: fast, and after 15 s immediately. A process that does not serve
 * the cluster (any more) is left alone. Throws where it does not end within 10 s more.
 */
export async function stopServer(pid: number, clusterDir: string, binaries: Binaries): Promise<void> {
  for (const { signal, limitMs } of steps) {
    if (await servesCluster(pid, clusterDir)) {
      await send(signal, pid, binaries);
    }
    if (await hasEnded(pid, clusterDir, limitMs)) {
      return;
    }
  }
  throw new Error(`PostgreSQL (process ${pid}, ${clusterDir}) does not stop, not even immediately.`);
}

async function hasEnded(pid: number, clusterDir: string, limitMs: number): Promise<boolean> {
  const deadline = performance.now() + limitMs;
  while (await servesCluster(pid, clusterDir)) {
    if (performance.now() > deadline) {
      return false;
    }
    await sleep(pollMs);
  }
  return true;
}

async function send(signal: 'INT' | 'QUIT', pid: number, binaries: Binaries): Promise<void> {
  if (process.platform === 'win32') {
    // Windows has no signals; PostgreSQL's own tool speaks to the server there.
    await runProgram(binaries.pgCtl, ['kill', signal, String(pid)], { user: null });
    return;
  }
  try {
    process.kill(pid, `SIG${signal}`);
  } catch (error) {
    if (codeOf(error) !== 'ESRCH') {
      throw error;
    }
  }
}
