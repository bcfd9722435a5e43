import { noMemory, type ItemMemory } from '../../src/core/item-memory.ts';
import type { PackageLook } from '../../src/core/look.ts';
import { openGraph } from '../../src/source/graph/graph-client.ts';
import type { GraphPlace } from '../../src/source/graph/graph-place.ts';
import { openGraphSource, type GraphSource } from '../../src/source/graph/graph-source.ts';
import type { Graph } from '../../src/source/graph/graph.ts';
import { startTinyDrive, type TinyDrive } from './tiny-drive.ts';

export interface TinySource extends AsyncDisposable {
  readonly source: GraphSource;
  readonly graph: Graph;
  /** Moves the time that the driver sees. */
  pass(ms: number): void;
}

export interface TinySourceOptions {
  readonly url: string;
  readonly token?: string;
  readonly drive?: GraphPlace['drive'];
  readonly rootPath?: string;
  readonly memory?: ItemMemory;
  /** Instead of a pause that is over at once and moves the time on. */
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<unknown>;
}

/** The driver of drives, on a clock that moves only when somebody waits. */
export function openTinySource(options: TinySourceOptions): TinySource {
  const { url, token = 'secret-token', memory = noMemory, rootPath = '' } = options;
  let clock = 0;
  const sleep = async (ms: number): Promise<void> => {
    clock += ms;
  };
  const credentials = { kind: 'token', token } as const;
  const place = { cloud: 'global', baseUrl: url, authority: null, downloadHosts: [], credentials } as const;
  // The client's waits are its own: they do not move what the driver sees.
  let clientClock = 1_800_000_000_000;
  const clientSleep = async (ms: number): Promise<void> => {
    clientClock += ms;
  };
  const graph = openGraph(place, { habits: { now: () => clientClock, sleep: clientSleep } });
  const drive = options.drive === undefined ? ({ kind: 'id', driveId: 'b!tiny' } as const) : options.drive;
  const habits = { now: () => clock, sleep: options.sleep ?? sleep };
  const source = openGraphSource({ graph, memory, place: { drive, rootPath }, habits });
  return {
    source,
    graph,
    pass: (ms) => {
      clock += ms;
    },
    async [Symbol.asyncDispose]() {
      await source[Symbol.asyncDispose]();
      await graph[Symbol.asyncDispose]();
    },
  };
}

/** Runs a test with a drive in memory and a source that reads it. */
export async function withTinyDrive(
  work: (drive: TinyDrive, source: GraphSource, tiny: TinySource) => Promise<void>,
  change: Omit<TinySourceOptions, 'url'> = {},
): Promise<void> {
  await using drive = await startTinyDrive();
  await using tiny = openTinySource({ url: drive.url, ...change });
  await work(drive, tiny.source, tiny);
}

/** What a look answers, as short as can be: a text for a file that is there, a code for one refused, hints for one absent. */
export function told(look: PackageLook): unknown {
  if (look.root === 'trouble') return look.code;
  return look.files.map((file) => {
    if (file.state === 'present') return Buffer.from(file.content ?? []).toString();
    return file.state === 'refused' ? file.code : [file.state, ...file.hints.map(({ code }) => code)];
  });
}

export function downloadsOf({ asked }: TinyDrive): number {
  return asked.filter((path) => path.startsWith('content ')).length;
}
