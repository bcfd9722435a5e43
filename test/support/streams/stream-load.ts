import { setTimeout as sleep } from 'node:timers/promises';
import type { CrashStage } from '../crash/crash-stage.ts';
import { HttpClient } from '../history/http-client.ts';
import type { Outcome } from '../history/record.ts';
import type { Recorder } from '../history/recorder.ts';

export interface StreamLoadOptions {
  readonly stage: CrashStage;
  readonly recorder: Recorder;
  readonly agents: readonly string[];
  /** The APIs in turn: the addresses that movers and readers ask. */
  readonly urls: readonly string[];
}

/** The names of the load's clients, which need keys. */
export function loadClientsOf(agents: readonly string[]): string[] {
  return agents.flatMap((agent) => [`mover of ${agent}`, `reader of ${agent}`]);
}

/**
 * What goes on while streams are followed: each agent's file is saved again and again for the daemons to see, its pointer
 * is moved, held and released through one API, and read through another. Whoever is not answered asks again.
 */
export function startStreamLoad({ stage, recorder, agents, urls }: StreamLoadOptions): {
  stop(): Promise<void>;
} {
  const ending = new AbortController();
  const { signal } = ending;
  const clientOf = (name: string, index: number) => {
    const url = () => urls[index % urls.length] ?? '';
    return new HttpClient({ recorder, name, key: stage.keys.get(name) ?? '', url, signal });
  };
  const all = Promise.all(
    agents.flatMap((agent, index) => [
      save(stage, agent, signal),
      move(clientOf(`mover of ${agent}`, index), agent, signal),
      read(clientOf(`reader of ${agent}`, index + 1), agent, signal),
    ]),
  );
  all.catch(() => undefined); // Told by `stop`.
  return {
    async stop() {
      ending.abort();
      await all;
    },
  };
}

async function save(stage: CrashStage, agent: string, signal: AbortSignal): Promise<void> {
  for (let turn = 1; !signal.aborted; turn += 1) {
    await stage.save(`${agent}/a.md`, `# ${agent}\n\nturn ${turn}\n`);
    await sleep(400 + Math.random() * 400);
  }
}

async function move(client: HttpClient, agent: string, signal: AbortSignal): Promise<void> {
  for (let turn = 1; !signal.aborted; turn += 1) {
    const key = `turn ${turn}`;
    const ask = (): Promise<Outcome> => {
      if (turn % 5 === 3) return client.hold(agent, { key, reason: 'A test holds it.' });
      if (turn % 5 === 0) return client.release(agent, { key, activateNewest: turn % 10 === 0 });
      return client.activate(agent, 1 + (turn % 2), { key });
    };
    while ((await ask()).end === 'unknown' && !signal.aborted) await sleep(200);
    await sleep(100 + Math.random() * 100);
  }
}

async function read(client: HttpClient, agent: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const { end } = await client.read(agent);
    await sleep(end === 'ok' ? 50 : 250);
  }
}
