import { hostname } from 'node:os';
import { v7 as uuidv7 } from 'uuid';
import type { Settings } from '../../config/settings.ts';
import { Daemon } from '../../daemon/daemon.ts';
import { systemClock } from '../../daemon/clock.ts';
import { NoticeKeeper } from '../../daemon/notice-keeper.ts';
import { Pause } from '../../daemon/pause.ts';
import { settleTimes } from '../core/settle-window.ts';
import { openDriveMemory } from '../operations/drive-memory.ts';
import { makeLooker } from '../operations/looker.ts';
import { beginNotices } from '../operations/queue-notices.ts';
import { registryFileAt } from '../source/registry-file.ts';
import { describeLook } from './describe-look.ts';
import { LookLines } from './look-lines.ts';
import {
  endDespiteOthers,
  endInTime,
  endOnUnawaitedErrors,
  tellParent,
  untilAskedToStop,
} from './lifetime.ts';
import { jsonLogger } from './logger.ts';
import { openSource } from './open-source.ts';
import { findDatabase, openContext } from './runtime.ts';
import { setUpDatabase } from './setup-database.ts';
import { openReceiver, warnOfClearWebhook } from './webhook.ts';

/** `daemon`: keeps the packages in step with the source until it is asked to stop. */
export async function runDaemon(settings: Settings): Promise<void> {
  await keepInStep(settings);
  // A token that is being asked for cannot be called back.
  endDespiteOthers();
}

async function keepInStep(settings: Settings): Promise<void> {
  const stop = untilAskedToStop();
  const logger = jsonLogger(settings.logLevel, { process: 'daemon' });
  endOnUnawaitedErrors(logger);
  void endInTime(stop, logger);
  for (const name of settings.idle) logger.warn(`the setting ${name} has no effect`);
  warnOfClearWebhook(settings, logger);
  const urls = await findDatabase(settings);
  const madeKey = settings.migrate === 'auto' ? await setUpDatabase(settings, urls) : null;
  if (madeKey !== null) logger.info('an admin key was made', { ...madeKey });
  await using context = await openContext(settings, urls.applicationUrl);
  for (const fault of await context.database.faults()) logger.error(fault);
  const lines = new LookLines();
  const noticePause = new Pause(systemClock);
  const looker = await makeLooker(context, { id: uuidv7(), kind: 'daemon', name: `daemon on ${hostname()}` });
  const stopping = new AbortController();
  void stop.then(() => stopping.abort());
  await using opened = await openSource(settings, {
    memory: openDriveMemory(context),
    signal: stopping.signal,
  });
  const receiver = openReceiver(settings);
  // Before the first looks, so that what they find is told also where nothing ever was.
  if (receiver !== null) await beginNotices(context);
  await using daemon = await Daemon.start({
    context,
    looker,
    identity: { host: hostname(), processId: process.pid },
    source: opened.source,
    logger,
    clock: systemClock,
    watchEnvironments: settings.watchEnvironments,
    settleTimes: (environment) => settleTimes[settings.settle[environment] ?? 'settled'],
    resyncSeconds: settings.resyncSeconds,
    registry: registryFileAt(settings.registryPath),
    watched: opened.watch(looker.id),
    onLook: ({ agentKey, environment, trigger, result }) => {
      const told = lines.lineOf(agentKey, environment, result);
      if (told !== null) tellParent({ type: 'line', ...told });
      const line = describeLook(agentKey, environment, result);
      const fields = { agentKey, environment, trigger, outcome: result.outcome, reason: result.reason };
      if (result.outcome === 'UNCHANGED' || result.outcome === 'SUPERSEDED')
        return logger.debug(line, fields);
      logger.info(line, fields);
      noticePause.wake();
    },
    onAlarm: (text) => tellParent({ type: 'line', text, tone: 'waiting' }),
    stop,
  });
  // After the first looks: what had gone stale only because no daemon looked is well by now, and nobody needs to be told.
  await using notices =
    receiver && (await NoticeKeeper.start({ context, receiver, logger, pause: noticePause }));
  tellParent({ type: 'ready' });
  logger.info('the daemon watches', { root: opened.name, environments: settings.watchEnvironments });
  logger.info('the daemon stops', { reason: await stop });
  void [daemon, notices];
}
