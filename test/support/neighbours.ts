import { execFileSync } from 'node:child_process';
import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startOwnServer, type OwnServer } from './own-server.ts';
import { ask, type Answer } from './probe.ts';
import type { RunningCommand } from './processes.ts';
import { childrenOf } from './watched-processes.ts';

/** Twenty agents whose files share one folder, refreshed by a real daemon and read through a real API (R15). */
export interface Neighbours extends AsyncDisposable {
  readonly own: OwnServer;
  readonly api: { readonly command: RunningCommand; readonly url: string };
  readonly daemon: RunningCommand;
  readonly bad: string;
  readonly good: readonly string[];
}

/** What the good ones were answered. */
export interface Pace {
  readonly refreshes: readonly Answer[];
  readonly reads: readonly Answer[];
}

export async function startNeighbours(settings: Readonly<Record<string, string>> = {}): Promise<Neighbours> {
  const agents = Array.from({ length: 20 }, (_, at) => `agent_${String(at + 1).padStart(2, '0')}`);
  const [bad, ...good] = agents as [string, ...string[]];
  const own = await startOwnServer(agents, settings);
  const daemon = await own.startDaemon();
  const api = await own.startApi();
  return { own, api, daemon, bad, good, [Symbol.asyncDispose]: () => own[Symbol.asyncDispose]() };
}

/** Changes and refreshes every good agent once in two seconds for a while, and has `readers` read all the time. */
export async function pace(
  { own, api, good }: Neighbours,
  { name, ms, readers }: { readonly name: string; readonly ms: number; readonly readers: number },
): Promise<Pace> {
  const until = performance.now() + ms;
  const refreshes: Answer[] = [];
  const reads: Answer[] = [];
  const refreshing = good.map(async (agent, at) => {
    await sleep((at * 2000) / good.length);
    for (let round = 0; performance.now() < until; round += 1) {
      await own.save(agent, `${name} ${round}`);
      const answer = await ask(api.url, refreshOf(agent));
      refreshes.push(answer);
      await sleep(Math.max(0, 2000 - answer.tookMs));
    }
  });
  const reading = Array.from({ length: readers }, async (_, at) => {
    for (let round = 0; performance.now() < until; round += 1) {
      const agent = good[(at + round) % good.length];
      reads.push(await ask(api.url, `{ activeVersion(agentKey: "${agent}") { knowledgeVersion checksum } }`));
      await sleep(40);
    }
  });
  await Promise.all([...refreshing, ...reading]);
  return { refreshes, reads };
}

export const refreshOf = (agent: string) =>
  `mutation { refresh(agentKey: "${agent}", waitSeconds: 50) { state outcome } }`;

/** What the slowest of a share of these answers took, in milliseconds. */
export function slowest(answers: readonly Answer[], share: number): number {
  const times = answers.map((answer) => answer.tookMs).toSorted((a, b) => a - b);
  return times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0;
}

/** Does everything a bad neighbour can, over and over: hostile files, reads that hang, calls without pause. */
export async function misbehave({ own, api, daemon, bad }: Neighbours, signal: AbortSignal): Promise<void> {
  const path = join(own.folder, 'knowledge', `${bad}.md`);
  const hammer = async () => {
    const query = `mutation { refresh(agentKey: "${bad}", waitSeconds: 0) { state } }`;
    while (!signal.aborted) await ask(api.url, query);
  };
  const hostile = `${'<scr'.repeat(200_000)}${'&#x6a;'.repeat(30_000)}`;
  const spoil = async () => {
    for (let round = 0; !signal.aborted; round += 1) {
      const reader = (await childrenOf(daemon.process.pid ?? 0))[round % 2];
      if (round % 8 === 3 && reader) process.kill(reader, 'SIGSTOP'); // A read that never comes back (F10, F58).
      await rm(path, { force: true });
      if (round % 10 === 5) execFileSync('mkfifo', [path]);
      else {
        await writeFile(`${path}.new`, round % 10 === 7 ? hostile : `# Flip\n\n${round}\n`);
        await rename(`${path}.new`, path);
      }
      await sleep(150);
    }
    await rm(path, { force: true });
  };
  await Promise.all([spoil(), ...Array.from({ length: 4 }, hammer)]);
}
