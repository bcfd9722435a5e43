import { KnowledgeError } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import type { Context } from '../operations/context.ts';
import { readReadinessFaults, readReadinessWarnings } from '../operations/read-readiness.ts';
import { allowMethods, type Exchange } from './exchange.ts';
import type { Auth } from './find-caller.ts';
import { respondJson } from './respond.ts';

export interface HealthOptions {
  readonly context: Context;
  readonly auth: Auth;
  readonly logger: Logger;
  /** What the process knows to be wrong although it answers, each as a sentence, such as a role that may too much. */
  readonly readiness: () => Promise<readonly string[]>;
  /** False from the moment the server is asked to stop. */
  readonly isOpen: () => boolean;
}

/** What `/readyz` says: it is ready where nothing is a fault, and warnings are to be mended all the same. */
interface Readiness {
  readonly faults: readonly string[];
  readonly warnings: readonly string[];
}

/**
 * Answers `/healthz` (the process lives) and `/readyz` (it can answer from real content, or why not: 503); false for
 * any other path. Both are for everybody, so they say nothing that is not.
 */
export function createHealthRoutes(options: HealthOptions): (exchange: Exchange) => Promise<boolean> {
  let checking: Promise<Readiness> | null = null;
  // Everybody who asks while a check is under way shares it: asking costs the database one check at a time.
  const check = () => {
    checking ??= checkReadiness(options).finally(() => {
      checking = null;
    });
    return checking;
  };
  return async (exchange) => {
    if (exchange.path !== '/healthz' && exchange.path !== '/readyz') return false;
    allowMethods(exchange, ['GET', 'HEAD']);
    if (exchange.path === '/healthz') respondJson(exchange, 200, { alive: true });
    else respondReadiness(exchange, await check());
    return true;
  };
}

function respondReadiness(exchange: Exchange, { faults, warnings }: Readiness): void {
  const ready = faults.length === 0;
  respondJson(exchange, ready ? 200 : 503, { ready, faults, warnings });
}

async function checkReadiness({
  context,
  auth,
  logger,
  readiness,
  isOpen,
}: HealthOptions): Promise<Readiness> {
  if (!isOpen()) return { faults: ['The server is shutting down.'], warnings: [] };
  try {
    const [faults, rights, warnings] = await Promise.all([
      readReadinessFaults(context),
      readiness(),
      readReadinessWarnings(context),
    ]);
    return { faults, warnings: [...(auth === 'required' ? [] : [openDoor]), ...rights, ...warnings] };
  } catch (error) {
    if (error instanceof KnowledgeError && error.code === 'UNAVAILABLE') {
      return { faults: [error.message], warnings: [] };
    }
    const stack = error instanceof Error ? error.stack : String(error);
    logger.error('The readiness check itself failed.', { error: stack });
    return { faults: ['The check itself failed; the log says why.'], warnings: [] };
  }
}

/** T52: nobody may overlook it. */
const openDoor = 'AGENT_KNOWLEDGE_AUTH is off: whoever reaches this port may do everything.';
