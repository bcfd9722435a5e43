import packageJson from '../../package.json' with { type: 'json' };
import type { Settings } from '../../config/settings.ts';
import { watchFolder } from '../../daemon/watch-folder.ts';
import type { WatchedSource } from '../../daemon/watched-source.ts';
import type { ItemMemory } from '../core/item-memory.ts';
import type { Graph } from '../source/graph/graph.ts';
import type { GraphSource } from '../source/graph/graph-source.ts';
import { openLocalSource } from '../source/local-source.ts';
import { statPrint } from '../source/registry-file.ts';
import type { Source } from '../source/source.ts';
import { sourceName } from './source-name.ts';

export interface SourceWanted {
  /** What is remembered of a drive. */
  readonly memory: ItemMemory;
  /** Ends every wait of the source. */
  readonly signal?: AbortSignal;
  /** Processes that read a folder; a single look needs no spare one. */
  readonly readers?: number;
}

/** The source that the settings name; closing it leaves no process, request or timer behind. */
export interface OpenedSource extends AsyncDisposable {
  readonly source: Source;
  /** What a person knows it by: a folder's path, or a drive and the folder in it. */
  readonly name: string;
  /** How a daemon watches it; `keeper` tells this daemon from the others. */
  readonly watch: (keeper: string) => WatchedSource;
}

/** Opens the one source that the settings name; everything after it is the same for all (K-005, K-008). */
export async function openSource(settings: Settings, wanted: SourceWanted): Promise<OpenedSource> {
  return settings.source === 'local' ? openFolder(settings, wanted) : openWatchedDrive(settings, wanted);
}

/** A drive, and what it is asked through. */
export interface OpenedDrive extends AsyncDisposable {
  readonly graph: Graph;
  readonly source: GraphSource;
  readonly name: string;
}

/** Opens the drive of the settings; asks for nothing yet. The libraries take half a second, so only who needs them loads them. */
export async function openDrive(settings: Settings, { memory, signal }: SourceWanted): Promise<OpenedDrive> {
  const [{ openGraph }, { openGraphSource }] = await Promise.all([
    import('../source/graph/graph-client.ts'),
    import('../source/graph/graph-source.ts'),
  ]);
  const { graph: place } = settings;
  await using stack = new AsyncDisposableStack();
  const ending = signal === undefined ? {} : { signal };
  const graph = stack.use(openGraph(place, { version: packageJson.version, ...ending }));
  const source = stack.use(openGraphSource({ graph, place, memory, ...ending }));
  const opened = stack.move();
  return {
    graph,
    source,
    name: sourceName(settings),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

function openFolder(settings: Settings, { readers }: SourceWanted): OpenedSource {
  const { localPath: root, sweepMs, watchMode } = settings;
  const source = openLocalSource({ root, ...(readers === undefined ? {} : { limits: { readers } }) });
  return {
    source,
    name: root,
    watch: () => watchFolder({ root, sweepMs, watchMode, statPrint }),
    [Symbol.asyncDispose]: () => source[Symbol.asyncDispose](),
  };
}

async function openWatchedDrive(settings: Settings, wanted: SourceWanted): Promise<OpenedSource> {
  const { watchDrive } = await import('../../daemon/watch-drive.ts');
  const drive = await openDrive(settings, wanted);
  const { sweepMs, watchMode, publicUrl } = settings;
  const { pollSeconds } = settings.graph;
  const habits = { pollSeconds, publicUrl, sweepMs, watchMode, statPrint };
  return { ...drive, watch: (keeper) => watchDrive({ ...drive, ...habits, keeper }) };
}
