import { fine, firstChecks, trouble, warn, type Advice, type Check } from '../../core/check.ts';
import { counted } from '../../core/count.ts';
import { versionName } from '../../core/package.ts';
import type { SourceStatusRow } from '../../store/source-status.ts';
import type { PrintCommand } from './command.ts';
import { isAuthorsFault } from './file-advice.ts';
import { patienceSeconds, type Known } from './known.ts';

const noKnowledge = 'The agent gets no knowledge, and must not run.';
const staleMeaning = 'The active version is served, though the source may hold something newer.';

/** More than a person reads of one kind. */
const maxChecks = 100;

/** Packages that give their agent nothing, that a hold keeps where they are, or that may lag behind their source. */
export function checkPackages({ packages, daemons }: Known, command: PrintCommand): Check[] {
  const area = 'packages';
  const served = packages.filter(({ row }) => row.listed && row.enabled);
  const checks = served.flatMap((entry) => checkPackage(entry, daemons.length > 0, command));
  return [fine({ area, name: 'packages', found: countPackages(served) }), ...firstChecks(checks, maxChecks)];
}

/** Who watches an environment expects versions there; elsewhere a package has one when somebody asked for it. */
function countPackages(served: Known['packages']): string {
  const watched = served.filter(({ status }) => status?.watched === true);
  const others = served.filter(({ status }) => status?.watched !== true);
  const never = others.filter(
    ({ row, status }) => row.nextNumber === 1 && (status?.lastLookAt ?? null) === null,
  ).length;
  const sentences = [
    watched.length === 0
      ? 'No enabled package is watched.'
      : `${countActive(watched)} of ${counted(watched.length, 'watched package')} ${hasOrHave(countActive(watched))} an active version.`,
  ];
  if (others.length > 0)
    sentences.push(
      `In unwatched environments ${countActive(others)} of ${others.length} ${hasOrHave(countActive(others))} one; ${never} ${never === 1 ? 'was' : 'were'} never asked for.`,
    );
  return sentences.join(' ');
}

function countActive(packages: Known['packages']): number {
  return packages.filter(({ row }) => row.activeNumber !== null).length;
}

function hasOrHave(count: number): string {
  return count === 1 ? 'has' : 'have';
}

function checkPackage(
  { row, status }: Known['packages'][number],
  isWatched: boolean,
  command: PrintCommand,
): Check[] {
  const { activeNumber } = row;
  const newest = row.nextNumber > 1 ? row.nextNumber - 1 : null;
  const title = `${row.agentKey} (${row.environment})`;
  const at = (name: string, found: string) =>
    ({ area: 'packages', name, found, agentKeys: [row.agentKey] }) as const;
  const checks = [];
  const said = status?.message === null || status === undefined ? '' : ` ${status.message}`;
  if (newest !== null && newest !== activeNumber && (activeNumber === null || row.hold === null)) {
    const name = versionName(newest);
    const now = activeNumber === null ? 'none is active' : `${versionName(activeNumber)} is active`;
    const finds = at('pending', `${title}: ${now}; ${name} waits for activation.`);
    checks.push(warn(finds, pending(activeNumber === null, command(row, 'activate', name))));
  }
  // Where nobody watches, a package that was never asked for is no trouble.
  if (newest === null && status?.watched === true)
    checks.push(
      trouble(
        at('no_version', `${title} has no version yet.${said}`),
        isForAuthor(status) ? refusedFiles : noVersion(command(row, 'plan')),
      ),
    );
  if (row.hold !== null) {
    const reason = row.hold.reason === null ? '' : `: ${row.hold.reason}`;
    const by = row.hold.cause === 'OPERATOR' ? 'by a person' : `because it ${holdWords[row.hold.cause]}`;
    checks.push(warn(at('held', `${title} is held ${by}${reason}`), held(command(row, 'release'))));
  }
  if (status?.stale === true && activeNumber !== null) {
    const finds = at('stale', `${title} may lag behind its source (${status.state}).${said}`);
    checks.push(
      isWatched
        ? trouble(finds, stale(command(row, 'plan')))
        : warn(finds, staleUnwatched(command(row, 'refresh'))),
    );
  }
  return checks;
}

/** Whether what the last look found is mended in the folder. */
function isForAuthor({ outcome, reason }: SourceStatusRow): boolean {
  return outcome === 'VALIDATION_FAILED' || (outcome === 'FAILED' && isAuthorsFault(reason));
}

const holdWords = { SHRANK: 'lost most of itself', RATE: 'changed too often' } as const;

/** Requests that nobody answers. */
export function checkQueue({ waiting, daemons }: Known, command: PrintCommand): Check[] {
  const area = 'queue';
  if (waiting.length === 0)
    return [
      fine({ area, name: 'queue', found: `No request has waited for longer than ${patienceSeconds} s.` }),
    ];
  const checks = waiting.map((entry) => {
    const { agentKey, environment, requests, oldestSeconds } = entry;
    const wait = requests === 1 ? 'waits' : 'wait';
    const found = `${counted(requests, 'request')} for ${agentKey} (${environment}) ${wait}, the oldest for ${oldestSeconds} s.`;
    return trouble(
      { area, name: 'waiting', found, agentKeys: [agentKey] },
      daemons.length === 0 ? nobody(command(entry, 'refresh')) : slow,
    );
  });
  return firstChecks(checks, maxChecks);
}

const pending = (isFirst: boolean, activate: string): Advice => ({
  meaning: isFirst
    ? 'The agent gets no knowledge until a person activates a version.'
    : 'The agent gets the older one until a person activates the newer.',
  fix: `When it is meant, run ${activate}.`,
  who: 'operator',
});
const noVersion = (plan: string): Advice => ({
  meaning: noKnowledge,
  fix: `Run ${plan}: it says what stands in the way.`,
  who: 'operator',
});
const refusedFiles: Advice = {
  meaning: noKnowledge,
  fix: 'Mend in the folder what the checks of files name; the next save makes the first version.',
  who: 'author',
};
const held = (release: string): Advice => ({
  meaning: 'New versions are stored and wait; the active one stays.',
  fix: `When the hold is no longer meant, run ${release}, with --activate-newest where it should catch up.`,
  who: 'operator',
});
const stale = (plan: string): Advice => ({
  meaning: staleMeaning,
  fix: `Mend what the checks above name; ${plan} says what a refresh would do.`,
  who: 'operator',
});
const staleUnwatched = (refresh: string): Advice => ({
  meaning: staleMeaning,
  fix: `Start the daemon, or run ${refresh}.`,
  who: 'operator',
});
const nobody = (refresh: string): Advice => ({
  meaning: 'No daemon is alive to answer them; they are kept.',
  fix: `Start the daemon, or run ${refresh}.`,
  who: 'operator',
});
const slow: Advice = {
  meaning: 'A daemon is alive and does not get to them: the files keep changing, or it hangs.',
  fix: "Read the daemon's log; restart it if it hangs. The requests are kept.",
  who: 'operator',
};
