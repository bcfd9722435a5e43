import type { Logger } from '../src/core/logger.ts';
import type { Registry } from '../src/core/package.ts';
import { findSlowPass, type Pace } from '../src/core/resync-pace.ts';
import type { Source } from '../src/source/source.ts';

export interface PaceFacts extends Pace {
  readonly source: Pick<Source, 'type'>;
  readonly registry: Registry | null;
}

/** Warns where a drive's timer comes sooner than its looks can be through, with the number to set. Only a drive counts units. */
export function warnOfSlowPass(logger: Logger, facts: PaceFacts): void {
  const { source, registry, resyncSeconds } = facts;
  if (source.type !== 'graph' || registry === null) return;
  const slow = findSlowPass(registry, facts);
  if (slow === null) return;
  const { passSeconds, leastSeconds, message } = slow;
  logger.warn(
    `${message} Packages will show as stale though nothing is wrong: set AGENT_KNOWLEDGE_RESYNC_SECONDS to ${leastSeconds} or more`,
    { passSeconds, leastSeconds, resyncSeconds },
  );
}
