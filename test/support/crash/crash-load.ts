import { setTimeout as sleep } from 'node:timers/promises';
import { HttpClient } from '../history/http-client.ts';
import type { Outcome } from '../history/record.ts';
import type { Recorder } from '../history/recorder.ts';
import type { CrashStage } from './crash-stage.ts';

export const loadAgents = ['alpha', 'beta', 'gamma', 'delta', 'epsilon', 'zeta', 'eta', 'theta'] as const;
export const loadFiles = ['a.md', 'b.md'] as const;
const readers = 4;

/** The names of R1's clients: one writer for each file, and four readers. */
export const loadClients: readonly string[] = [
  ...loadAgents.flatMap((agent) => loadFiles.map((file) => `writer of ${agent}/${file}`)),
  ...Array.from({ length: readers }, (_, index) => `reader ${index + 1}`),
];

/** What goes on while things are killed. */
export interface CrashLoad {
  /** Ends it; calls under way end unknown. */
  stop(): Promise<void>;
}

/**
 * 16 writers on 8 packages, each with a file of its own that it saves afresh before every refresh, every fifth operation
 * an activation; and 4 readers (R1). Whatever ends unknown is asked again under the same key until it is answered (G8).
 */
export function startLoad(stage: CrashStage, recorder: Recorder): CrashLoad {
  const ending = new AbortController();
  const { signal } = ending;
  const newest = new Map<string, number>();
  const clientOf = (name: string) =>
    new HttpClient({ recorder, name, key: stage.keys.get(name) ?? '', url: () => stage.url, signal });
  const writers = loadAgents.flatMap((agent) =>
    loadFiles.map((file) =>
      write({ stage, newest, signal, agent, file, client: clientOf(`writer of ${agent}/${file}`) }),
    ),
  );
  const reading = Array.from({ length: readers }, (_, index) =>
    read(clientOf(`reader ${index + 1}`), index, signal),
  );
  const all = Promise.all([...writers, ...reading]);
  all.catch(() => undefined); // Told by `stop`.
  return {
    async stop() {
      ending.abort();
      await all;
    },
  };
}

interface Writer {
  readonly stage: CrashStage;
  readonly client: HttpClient;
  readonly agent: string;
  readonly file: string;
  /** The newest number that anybody was told of, by agent. */
  readonly newest: Map<string, number>;
  readonly signal: AbortSignal;
}

async function write({ stage, client, agent, file, newest, signal }: Writer): Promise<void> {
  const relativePath = `${agent}/${file}`;
  for (let turn = 1; !signal.aborted; turn += 1) {
    const key = `turn ${turn}`;
    const known = newest.get(agent);
    if (turn % 5 === 0 && known !== undefined) {
      const target = 1 + Math.floor(Math.random() * known);
      await insist(() => client.activate(agent, target, { key }), signal);
      continue;
    }
    const text = `# ${relativePath}\n\nturn ${turn}\n`;
    await stage.save(relativePath, text);
    const { result } = await insist(() => client.refresh(agent, { relativePath, text }, key), signal);
    if (result.version) newest.set(agent, Math.max(known ?? 0, result.version.number));
  }
}

/** Asks under one key until it is done or certainly not: whoever is told that nothing was changed takes it at its word. */
async function insist(ask: () => Promise<Outcome>, signal: AbortSignal): Promise<Outcome> {
  for (;;) {
    const outcome = await ask();
    if (outcome.end !== 'unknown' || signal.aborted) return outcome;
    await sleep(250);
  }
}

async function read(client: HttpClient, seed: number, signal: AbortSignal): Promise<void> {
  for (let turn = seed; !signal.aborted; turn += 1) {
    const outcome = await client.read(loadAgents[turn % loadAgents.length] ?? '');
    await sleep(outcome.end === 'ok' ? 20 : 250);
  }
}
