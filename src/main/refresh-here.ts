import { hostname } from 'node:os';
import { v7 as uuidv7 } from 'uuid';
import type { Settings } from '../../config/settings.ts';
import { systemClock } from '../../daemon/clock.ts';
import { LookerPool } from '../../daemon/looker-pool.ts';
import { RegistryKeeper } from '../../daemon/registry-keeper.ts';
import type { HereRefresh, HereRequest } from '../cli/cli.ts';
import { settleTimes } from '../core/settle-window.ts';
import type { CallContext } from '../operations/context.ts';
import { openDriveMemory } from '../operations/drive-memory.ts';
import { makeLooker } from '../operations/looker.ts';
import { readEnabledPackages } from '../operations/read-enabled-packages.ts';
import { awaitRefresh, requestRefresh } from '../operations/request-refresh.ts';
import { registryFileAt } from '../source/registry-file.ts';
import { jsonLogger } from './logger.ts';
import { openSource } from './open-source.ts';

/**
 * A refresh without a daemon: this process looks as a daemon would, with the same registry, tickets and quiet times, and
 * beside whoever else looks. The requests are stored first, so that they outlive it.
 */
export async function refreshHere(
  settings: Settings,
  call: CallContext,
  request: HereRequest,
): Promise<HereRefresh> {
  const name = `command line on ${hostname()}`;
  const looker = await makeLooker(call, { id: uuidv7(), kind: 'cli', name });
  await using opened = await openSource(settings, { memory: openDriveMemory(call) });
  const registry = new RegistryKeeper({
    context: call,
    clock: systemClock,
    watchEnvironments: settings.watchEnvironments,
    looker,
    ...registryFileAt(settings.registryPath),
    announce: async () => undefined, // No daemon: nobody compares.
  });
  const inForce = await registry.look();
  if (inForce.registry === null) return { refreshes: [], registryFaults: inForce.faults };
  const pool = new LookerPool({
    context: call,
    looker,
    source: opened.source,
    registry,
    logger: jsonLogger('warn', { process: 'cli' }),
    clock: systemClock,
    watchEnvironments: settings.watchEnvironments,
    settleTimes: (environment) => settleTimes[settings.settle[environment] ?? 'settled'],
    // What a look came to is read from its request.
    onLook: ({ agentKey }) => request.progress.step(agentKey),
  });
  try {
    return { refreshes: await askAndLook(call, pool, request), registryFaults: [] };
  } finally {
    await pool.stop(); // A look that failed would be tried again.
  }
}

async function askAndLook(
  call: CallContext,
  pool: LookerPool,
  request: HereRequest,
): Promise<HereRefresh['refreshes']> {
  const { agentKey, environment, acceptShrink, waitSeconds, progress } = request;
  const names =
    agentKey === null ? await readEnabledPackages(call, environment) : [{ agentKey, environment }];
  progress.begin(names.length);
  const asked = [];
  for (const name of names) asked.push(await requestRefresh(call, { ...name, acceptShrink, waitSeconds: 0 }));
  for (const name of names) pool.hint(name, 'request');
  await pool.idle();
  return Promise.all(asked.map(({ id }) => awaitOthers(call, id, waitSeconds)));
}

/** A request that another process has taken over is waited for; one that was put back is nobody's now. */
async function awaitOthers(
  call: CallContext,
  id: string,
  waitSeconds: number,
): Promise<HereRefresh['refreshes'][number]> {
  const refresh = await awaitRefresh(call, id, 0);
  return refresh.state === 'RUNNING' ? awaitRefresh(call, id, waitSeconds) : refresh;
}
