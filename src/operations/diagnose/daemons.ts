import { fine, trouble, warn, type Advice, type Check } from '../../core/check.ts';
import type { LiveDaemon } from '../../store/daemons.ts';
import type { Known } from './known.ts';

const area = 'daemons';

/** Who watches, how their roots are, and who has fallen silent. */
export function checkDaemons(
  { daemons, silent }: Known,
  input: { readonly watchEnvironments: readonly string[]; readonly now: Date },
): Check[] {
  const live = daemons.map((daemon) => checkLive(daemon, input.now));
  const gone = silent.map(({ host, processId, silentSeconds }) => {
    const found = `The daemon on ${host}, process ${processId}, has been silent for ${silentSeconds} s and did not say that it stops.`;
    return warn({ area, name: 'silent', found }, daemons.length === 0 ? nobodyLeft : othersLive);
  });
  if (daemons.length === 0)
    return [warn({ area, name: 'none', found: 'No daemon is alive.' }, none), ...gone];
  return [...live, ...checkWatched(daemons, input.watchEnvironments), ...gone];
}

function checkLive(daemon: LiveDaemon, now: Date): Check {
  const { host, processId, environments, startedAt, beatAt, condition } = daemon;
  const watched = environments.length === 0 ? 'nothing by itself' : environments.join(', ');
  const age = (since: Date): number => Math.max(0, Math.round((now.getTime() - since.getTime()) / 1000));
  const times = `up for ${age(startedAt)} s, last heard of ${age(beatAt)} s ago`;
  const lives = `The daemon on ${host}, process ${processId}, watches ${watched}; ${times}`;
  const why = condition.rootMessage === null ? '' : ` ${condition.rootMessage}`;
  switch (condition.root) {
    case 'ok':
      return fine({ area, name: 'alive', found: `${lives}; its root is well.` });
    case 'suspect':
    case 'returned':
      return warn(
        { area, name: `root_${condition.root}`, found: `${lives}; its root is ${condition.root}.${why}` },
        unsure,
      );
    case 'missing':
      return trouble(
        { area, name: 'root_missing', found: `${lives}; it has lost its root.${why}` },
        daemon.sourceType === 'graph' ? driveLost : rootLost,
      );
    default:
      return condition.root satisfies never;
  }
}

function checkWatched(daemons: readonly LiveDaemon[], wanted: readonly string[]): Check[] {
  const watched = new Set(daemons.flatMap((daemon) => daemon.environments));
  const missed = wanted.filter((environment) => !watched.has(environment));
  if (missed.length === 0) return [];
  const found = `No live daemon watches ${missed.join(', ')}, which the settings of this machine name.`;
  return [warn({ area, name: 'not_watched', found }, unwatched)];
}

const none: Advice = {
  meaning:
    'A save becomes no version by itself, and a refresh from the API waits; "npx agent-knowledge refresh --all" looks itself.',
  fix: 'Run "npm run daemon" where the folder is, or "npm start".',
  who: 'operator',
};
const nobodyLeft: Advice = {
  meaning: 'It was killed, or it hangs; what it had begun is taken up by the next one.',
  fix: 'Look whether the process still runs; end it, and start a daemon.',
  who: 'operator',
};
const othersLive: Advice = {
  meaning: 'It was killed, or it hangs; the live ones have taken over what it had begun.',
  fix: 'Look whether the process still runs, and end it. A day later it is forgotten.',
  who: 'operator',
};
const unsure: Advice = {
  meaning: 'The folder looks lost, or has just come back: nothing is captured until it is quiet.',
  fix: 'Wait a minute and run this again.',
  who: 'operator',
};
const rootLost: Advice = {
  meaning: 'Nothing counts as deleted: every active version stays in force, and goes stale.',
  fix: 'Mount or sync the folder again on that machine.',
  who: 'operator',
};
const driveLost: Advice = {
  meaning: 'Nothing counts as deleted: every active version stays in force, and goes stale.',
  fix: 'Mend what the message names; run this with the settings of that daemon, and the checks of the drive say what and who.',
  who: 'm365_administrator',
};
const unwatched: Advice = {
  meaning: 'There a save becomes a version only when a refresh is asked for.',
  fix: 'Set AGENT_KNOWLEDGE_WATCH_ENVIRONMENTS alike here and where the daemon runs, and restart it.',
  who: 'operator',
};
