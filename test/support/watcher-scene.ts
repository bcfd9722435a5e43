import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FSWatcher } from 'chokidar';
import { systemClock, type Clock } from '../../daemon/clock.ts';
import { LocalHints, type LocalHintsOptions } from '../../daemon/hints/local-hints.ts';
import { openWatcher } from '../../daemon/hints/open-watcher.ts';
import type { FolderEvent } from '../../src/core/folder-event.ts';
import { statPrint } from '../../src/source/registry-file.ts';
import { until } from './watched-processes.ts';
import { recordingLogger, type LogLine } from './graphql.ts';

/** Everything that the hints over a real folder said. */
export interface WatcherScene extends AsyncDisposable {
  readonly folder: string;
  readonly root: string;
  readonly hints: LocalHints;
  readonly files: FolderEvent[];
  /** Why everything was to be looked at. */
  readonly everything: string[];
  readonly conditions: string[];
  readonly registry: { hints: number };
  readonly log: LogLine[];
  /** Every watcher that was made: the real ones, for tests to break. */
  readonly watchers: FSWatcher[];
  readonly file: (name: string) => string;
  end(): Promise<void>;
}

/** Real hints over a real folder with `shared/a.md` and `shared/b.md`, sweeping once an hour unless a test says so. */
export async function watcherScene(
  change: Partial<LocalHintsOptions> & { readonly clock?: Clock; readonly listed?: readonly string[] } = {},
): Promise<WatcherScene> {
  const folder = await mkdtemp(join(tmpdir(), 'ak-watch-'));
  const root = change.root ?? join(folder, 'knowledge');
  await mkdir(join(folder, 'knowledge/shared'), { recursive: true });
  await mkdir(join(folder, 'config'));
  for (const name of ['a', 'b'])
    await writeFile(join(folder, 'knowledge/shared', `${name}.md`), `# ${name}\n`);
  await writeFile(join(folder, 'config/registry.json'), '{}');
  const logger = recordingLogger();
  const stop = new AbortController();
  const said = { files: [], everything: [], conditions: [], registry: { hints: 0 }, watchers: [] } as Pick<
    WatcherScene,
    'files' | 'everything' | 'conditions' | 'registry' | 'watchers'
  >;
  const hints: LocalHints = new LocalHints({
    root,
    registryPath: join(folder, 'config/registry.json'),
    sweepMs: 3_600_000,
    watchMode: 'native',
    statPrint,
    clock: systemClock,
    timeOfDay: () => Date.now(),
    logger,
    onFiles: (hint) => said.files.push(hint),
    onRegistry: async () => {
      said.registry.hints += 1;
    },
    onEverything: (reason) => said.everything.push(reason),
    onCondition: () => said.conditions.push(hints.condition.watcher),
    ...change,
    openWatcher: (folders) => {
      const watcher = (change.openWatcher ?? openWatcher)(folders);
      said.watchers.push(watcher);
      return watcher;
    },
  });
  hints.watch(change.listed ?? ['shared/a.md', 'shared/b.md']);
  const running = hints.run(stop.signal);
  const end = async () => {
    stop.abort();
    await running;
  };
  return {
    ...said,
    folder,
    root,
    hints,
    log: logger.lines,
    file: (name) => join(folder, 'knowledge/shared', name),
    end,
    async [Symbol.asyncDispose]() {
      await end();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Waits until it is so, however busy the machine is. */
export const patiently = (isSo: () => boolean) => until(isSo, 25_000);

/** Resolves when a watcher of the scene has said so many times that it watches. */
export const untilReady = (scene: WatcherScene, times = 1) =>
  patiently(() => scene.everything.filter((why) => why === 'the watcher is ready').length >= times);

/** The lines of a log that tell of the watcher's state, in order. */
export function statesTold(log: readonly LogLine[]): string[] {
  return log.filter((line) => line.level !== 'debug').map((line) => `${line.level}: ${line.message}`);
}
