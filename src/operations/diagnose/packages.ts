import { fine, firstChecks, trouble, warn, type Advice, type Check } from '../../core/check.ts';
import { patienceSeconds, type Known } from './known.ts';

/** More than a person reads of one kind. */
const maxChecks = 100;

/** Packages that give their agent nothing, that a hold keeps where they are, or that may lag behind their source. */
export function checkPackages({ packages, daemons }: Known): Check[] {
  const area = 'packages';
  const served = packages.filter(({ row }) => row.listed && row.enabled);
  const checks = served.flatMap((entry) => checkPackage(entry, daemons.length > 0));
  const active = served.filter(({ row }) => row.activeNumber !== null).length;
  const found = `${active} of ${served.length} enabled packages have an active version.`;
  return [fine({ area, name: 'packages', found }), ...firstChecks(checks, maxChecks)];
}

function checkPackage({ row, status }: Known['packages'][number], isWatched: boolean): Check[] {
  const title = `${row.agentKey} (${row.environment})`;
  const at = (name: string, found: string) =>
    ({ area: 'packages', name, found, agentKeys: [row.agentKey] }) as const;
  const checks = [];
  const said = status?.message === null || status === undefined ? '' : ` ${status.message}`;
  if (row.activeNumber === null && row.nextNumber > 1)
    checks.push(warn(at('pending', `${title} has versions, and none is active.`), pending));
  // Where nobody watches, a package that was never asked for is no trouble.
  else if (row.activeNumber === null && status?.watched === true)
    checks.push(trouble(at('no_version', `${title} has no version yet.${said}`), noVersion));
  if (row.hold !== null) {
    const reason = row.hold.reason === null ? '' : `: ${row.hold.reason}`;
    const by = row.hold.cause === 'OPERATOR' ? 'by a person' : `because it ${holdWords[row.hold.cause]}`;
    checks.push(warn(at('held', `${title} is held ${by}${reason}`), held));
  }
  if (status?.stale === true && row.activeNumber !== null) {
    const finds = at('stale', `${title} may lag behind its source (${status.state}).${said}`);
    checks.push(isWatched ? trouble(finds, stale) : warn(finds, staleUnwatched));
  }
  return checks;
}

const holdWords = { SHRANK: 'lost most of itself', RATE: 'changed too often' } as const;

/** Requests that nobody answers. */
export function checkQueue({ waiting, daemons }: Known): Check[] {
  const area = 'queue';
  if (waiting.length === 0)
    return [
      fine({ area, name: 'queue', found: `No request has waited for longer than ${patienceSeconds} s.` }),
    ];
  const checks = waiting.map(({ agentKey, environment, requests, oldestSeconds }) => {
    const found = `${requests} ${requests === 1 ? 'request' : 'requests'} for ${agentKey} (${environment}) wait, the oldest for ${oldestSeconds} s.`;
    return trouble(
      { area, name: 'waiting', found, agentKeys: [agentKey] },
      daemons.length === 0 ? nobody : slow,
    );
  });
  return firstChecks(checks, maxChecks);
}

const pending: Advice = {
  meaning: 'The agent gets no knowledge until a person activates a version.',
  fix: 'Run "npx agent-knowledge versions" and "activate" for it.',
  who: 'operator',
};
const noVersion: Advice = {
  meaning: 'The agent gets no knowledge, and must not run.',
  fix: 'Run "npx agent-knowledge plan" for it: it says what stands in the way.',
  who: 'author',
};
const held: Advice = {
  meaning: 'New versions are stored and wait; the active one stays.',
  fix: 'When the hold is no longer meant: "npx agent-knowledge release", with --activate-newest where it should catch up.',
  who: 'operator',
};
const stale: Advice = {
  meaning: 'The active version is served, though the source may hold something newer.',
  fix: 'Mend what the checks above name; "npx agent-knowledge plan" says what a refresh would do.',
  who: 'operator',
};
const staleUnwatched: Advice = {
  ...stale,
  fix: 'Start the daemon, or run "npx agent-knowledge refresh --all".',
};
const nobody: Advice = {
  meaning: 'No daemon is alive to answer them; they are kept.',
  fix: 'Start the daemon, or run "npx agent-knowledge refresh" for them.',
  who: 'operator',
};
const slow: Advice = {
  meaning: 'A daemon is alive and does not get to them: the files keep changing, or it hangs.',
  fix: "Read the daemon's log; restart it if it hangs. The requests are kept.",
  who: 'operator',
};
