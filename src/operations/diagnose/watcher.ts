import { fine, warn, type Advice, type Check } from '../../core/check.ts';
import type { Registry } from '../../core/package.ts';
import type { LiveDaemon } from '../../store/daemons.ts';
import type { FileSystemFacts } from './root.ts';

const area = 'watcher';

export interface WatchFacts {
  readonly watchMode: 'auto' | 'native' | 'sweep';
  /** Null where the root did not answer. */
  readonly fileSystem: FileSystemFacts | null;
  /** The kernel's limits; null where it has none. */
  readonly limits: { readonly maxWatches: number; readonly maxInstances: number } | null;
  readonly registry: Registry | null;
  readonly daemons: readonly LiveDaemon[];
}

/** Whether changes are told by events or found by the sweep alone, here and by what the live daemons say. */
export function checkWatcher(facts: WatchFacts): Check[] {
  return [...checkFileSystem(facts), ...checkLimits(facts), ...checkDaemonWatchers(facts.daemons)];
}

/** What the live daemons say of their hints. */
export function checkDaemonWatchers(daemons: readonly LiveDaemon[]): Check[] {
  return daemons.map(checkDaemon);
}

function checkFileSystem({ fileSystem, watchMode }: WatchFacts): Check[] {
  if (fileSystem === null) return [];
  const { name, network } = fileSystem;
  if (!network)
    return [fine({ area, name: 'file_system', found: `The root lies on ${name}, which tells of changes.` })];
  const found = `The root lies on ${name}, which does not tell of changes made elsewhere.`;
  if (watchMode === 'native') return [warn({ area, name: 'file_system', found }, forced)];
  return [fine({ area, name: 'file_system', found, meaning: 'The sweep finds them, about a second later.' })];
}

const forced: Advice = {
  meaning:
    'AGENT_KNOWLEDGE_WATCH_MODE is native: the daemon waits for events that do not come, and only its sweep helps.',
  fix: 'Set AGENT_KNOWLEDGE_WATCH_MODE to auto or sweep.',
  who: 'operator',
};

/** Far below what any system has by itself (8,192 watches, 128 instances). */
const leastWatches = 1024;
const leastInstances = 16;

function checkLimits({ limits, registry, watchMode }: WatchFacts): Check[] {
  if (limits === null || watchMode === 'sweep') return [];
  const { maxWatches, maxInstances } = limits;
  const found = `inotify allows a user ${maxWatches} watches and ${maxInstances} instances.`;
  // A watch for each listed file's folder and for the names in it, and room for the user's other programs.
  const wanted = Math.max(leastWatches, 4 * countWatched(registry));
  if (maxWatches >= wanted && maxInstances >= leastInstances)
    return [fine({ area, name: 'inotify_limits', found })];
  const fix = `Raise fs.inotify.max_user_watches to ${wanted} or more and fs.inotify.max_user_instances to 128 (sysctl).`;
  return [warn({ area, name: 'inotify_limits', found }, { ...fewWatches, fix })];
}

const fewWatches = {
  meaning: 'Where they run out the daemon falls back to its sweep and says that it is degraded.',
  who: 'operator',
} as const;

function countWatched(registry: Registry | null): number {
  const watched = new Set<string>();
  for (const agent of registry?.agents.values() ?? []) {
    for (const { relativePath } of agent.enabled ? agent.files : []) {
      watched.add(relativePath).add(relativePath.slice(0, relativePath.lastIndexOf('/') + 1));
    }
  }
  return watched.size;
}

function checkDaemon({ host, processId, sourceType, condition }: LiveDaemon): Check {
  const daemon = `The daemon on ${host}, process ${processId},`;
  const why = condition.watcherMessage === null ? '' : ` ${condition.watcherMessage}`;
  switch (condition.watcher) {
    case 'native':
      return fine({ area, name: 'native', found: `${daemon} gets events.` });
    case 'sweep':
      return fine({ area, name: 'sweep', found: `${daemon} sweeps, by choice.${why}` });
    case 'poll':
      return fine({ area, name: 'poll', found: `${daemon} asks the drive what has changed.${why}` });
    case 'notified':
      return fine({ area, name: 'notified', found: `${daemon} is told of changes by the drive.${why}` });
    case 'degraded':
      if (sourceType === 'graph')
        return warn({ area, name: 'degraded', found: `${daemon} cannot read the changes.${why}` }, deaf);
      return warn({ area, name: 'degraded', found: `${daemon} has lost its events.${why}` }, degraded);
    default:
      return condition.watcher satisfies never;
  }
}

const degraded: Advice = {
  meaning: 'Changes are found by the sweep alone: about a second later, none is lost.',
  fix: 'Mend what the daemon names: it then hears of changes again by itself, without a restart.',
  who: 'operator',
};

const deaf: Advice = {
  meaning:
    'Changes in the drive are found by the timer alone (AGENT_KNOWLEDGE_RESYNC_SECONDS): later, none is lost.',
  fix: 'Mend what the daemon names: it then reads the changes again by itself, without a restart.',
  who: 'operator',
};
