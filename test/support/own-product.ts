import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { loadSettings, type Settings } from '../../config/settings.ts';
import { systemClock } from '../../daemon/clock.ts';
import { Daemon } from '../../daemon/daemon.ts';
import { watchFolder } from '../../daemon/watch-folder.ts';
import type { Logger } from '../../src/core/logger.ts';
import { settleTimes } from '../../src/core/settle-window.ts';
import { startHttpServer } from '../../src/http/server.ts';
import { asLocal, openContext } from '../../src/main/runtime.ts';
import { makeLooker } from '../../src/operations/looker.ts';
import { openLocalSource } from '../../src/source/local-source.ts';
import { registryFileAt, statPrint } from '../../src/source/registry-file.ts';
import type { RoomLimits } from '../../src/store/room.ts';
import { registryOf } from './registry-documents.ts';

/** The API and a daemon on a database, in this process, so that a test can give what no setting gives. */
export interface OwnProduct extends AsyncDisposable {
  /** Where GraphQL is asked, without a key. */
  readonly url: string;
  /** What the daemon has logged as trouble, a message a line. */
  readonly troubles: string[];
}

/** Captures whatever the disk holds: what the server does when the guard did not stand before it. */
export const noLimits: RoomLimits = { minFreeBytes: 0, minFreeShare: 0 };

/** Settings of a folder with one agent `a`, whose only file is `knowledge/a.md`. */
export async function oneAgentSettings(folder: string, dataDir: string): Promise<Settings> {
  await mkdir(join(folder, 'knowledge'), { recursive: true });
  await writeFile(join(folder, 'knowledge', 'a.md'), '# Rules\n');
  await writeFile(join(folder, 'registry.json'), JSON.stringify(registryOf({ a: ['a.md'] })));
  return loadSettings(
    {
      AGENT_KNOWLEDGE_DATA_DIR: dataDir,
      AGENT_KNOWLEDGE_LOCAL_PATH: join(folder, 'knowledge'),
      AGENT_KNOWLEDGE_REGISTRY_PATH: join(folder, 'registry.json'),
    },
    folder,
  );
}

export async function openOwnProduct(
  settings: Settings,
  applicationUrl: string,
  limits: RoomLimits,
): Promise<OwnProduct> {
  await using stack = new AsyncDisposableStack();
  const troubles: string[] = [];
  const api = stack.use(await openContext(settings, applicationUrl, limits));
  const server = await startHttpServer({
    context: api,
    host: '127.0.0.1',
    port: 0,
    publicUrl: null,
    auth: { off: await asLocal(api) },
    logger: loggerTo([]),
    readiness: async () => [],
  });
  stack.defer(() => server.close(0));
  const context = stack.use(await openContext(settings, applicationUrl, limits));
  const looker = await makeLooker(context, { id: crypto.randomUUID(), kind: 'daemon', name: 'daemon' });
  const source = stack.use(openLocalSource({ root: settings.localPath }));
  stack.use(
    await Daemon.start({
      context,
      looker,
      identity: { host: 'test', processId: process.pid },
      source,
      logger: loggerTo(troubles),
      clock: systemClock,
      watchEnvironments: settings.watchEnvironments,
      settleTimes: () => settleTimes.fast,
      resyncSeconds: 1,
      registry: registryFileAt(settings.registryPath),
      watched: watchFolder({ root: settings.localPath, sweepMs: 200, watchMode: 'auto', statPrint }),
      onLook: () => undefined,
    }),
  );
  const opened = stack.move();
  return { url: `${server.url}/graphql`, troubles, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

function loggerTo(troubles: string[]): Logger {
  const quiet = () => undefined;
  return { debug: quiet, info: quiet, warn: quiet, error: (message) => void troubles.push(message) };
}
