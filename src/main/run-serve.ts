import type { Settings } from '../../config/settings.ts';
import { startHttpServer } from '../http/server.ts';
import { answerWaiting } from '../operations/request-refresh.ts';
import { endInTime, endOnUnawaitedErrors, tellParent, untilAskedToStop } from './lifetime.ts';
import { jsonLogger } from './logger.ts';
import { asLocal, findDatabase, openContext } from './runtime.ts';
import { setUpDatabase } from './setup-database.ts';

/** How long requests under way may take to finish once the process has been asked to stop. */
const graceMs = 10_000;

/** How long whoever waits for a refresh goes on waiting by then; told how it stands, he can ask again elsewhere. */
const waitMs = 3000;

/** `serve`: the API alone, until it is asked to stop. It needs no folder and no source, only the database. */
export async function runServe(settings: Settings): Promise<void> {
  const stop = untilAskedToStop();
  const logger = jsonLogger(settings.logLevel, { process: 'api' });
  endOnUnawaitedErrors(logger);
  void endInTime(stop, logger);
  for (const name of settings.idle) logger.warn(`the setting ${name} has no effect`);
  const urls = await findDatabase(settings);
  const madeKey = settings.migrate === 'auto' ? await setUpDatabase(settings, urls) : null;
  if (madeKey !== null) logger.info('an admin key was made', { ...madeKey });
  await using context = await openContext(settings, urls.applicationUrl);
  for (const fault of await context.database.faults()) logger.error(fault);
  const server = await startHttpServer({
    context,
    host: settings.host,
    port: settings.port,
    publicUrl: settings.publicUrl,
    auth: settings.auth === 'off' ? { off: await asLocal(context) } : 'required',
    logger,
    readiness: () => context.database.faults(),
  });
  if (settings.auth === 'off') logger.warn('authentication is off; the server listens on this machine only');
  tellParent({ type: 'ready', url: server.url, port: server.port });
  logger.info('the API listens', { url: server.url });
  logger.info('the API stops', { reason: await stop });
  const waits = setTimeout(() => answerWaiting(context), waitMs);
  await server.close(graceMs);
  clearTimeout(waits);
}
