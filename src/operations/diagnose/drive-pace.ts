import { warn, type Check } from '../../core/check.ts';
import type { Registry } from '../../core/package.ts';
import { findSlowPass, type Pace } from '../../core/resync-pace.ts';

/** Whether the timer of a drive leaves enough time to look at everything within the units that it may take (T2). */
export function checkPace(registry: Registry | null, pace: Pace): Check[] {
  const slow = registry === null ? null : findSlowPass(registry, pace);
  if (slow === null) return [];
  const fix = `Set AGENT_KNOWLEDGE_RESYNC_SECONDS to ${slow.leastSeconds} or more.`;
  const found = slow.message;
  return [warn({ area: 'drive', name: 'resync_too_often', found }, { meaning, fix, who: 'operator' })];
}

const meaning =
  'Packages show as stale though nothing is wrong; changes are found as quickly as ever, by asking the drive for them.';
