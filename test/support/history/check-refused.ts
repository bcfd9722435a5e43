import { bringersOf, contentName } from './deeds.ts';
import { mayHaveCaused } from './evidence.ts';
import {
  faultsOf,
  versionText,
  type Check,
  type CheckName,
  type Fault,
  type PackageHistory,
} from './fault.ts';
import type { Change } from './timeline.ts';

/** C3: what was certainly refused has left nothing. */
export const checkRefused: Check = (history) => [
  ...refusedContent(history),
  ...unaskedChanges(history).filter(({ check }) => check === 'C3'),
];

/** Content that was brought by nobody else than who was refused. */
function refusedContent(history: PackageHistory): Fault[] {
  const fault = faultsOf('C3', history);
  return [...bringersOf(history.deeds)].flatMap(([content, bringers]) => {
    if (bringers.some(({ end }) => end !== 'fail')) return [];
    const holding = history.final.versions.find(({ files }) =>
      files.some((file) => contentName(file) === content),
    );
    if (holding === undefined) return [];
    const [{ calls }] = bringers;
    return [fault(calls[0], 'nothing of it, since it was refused', `its content in v${holding.number}`)];
  });
}

/**
 * Changes that more events tell of than were asked for, each charged to the check whose case it is: to C3 where one was
 * asked for and refused, to C9 where one that was asked for came about more than once, to C7 where nobody asked.
 */
export function unaskedChanges(history: PackageHistory): Fault[] {
  const groups = new Map<string, Change[]>();
  for (const change of history.timeline.changes) {
    if (!isAsked(change)) continue;
    const name = JSON.stringify([change.event.actorName, change.action, change.number]);
    groups.set(name, [...(groups.get(name) ?? []), change]);
  }
  return [...groups.values()].flatMap((changes) => chargeGroup(history, changes as [Change, ...Change[]]));
}

/** Loads come from the source, and a hold may be the product's own; everything else comes from somebody's wish. */
function isAsked({ action, details }: Change): boolean {
  return action !== 'agent.knowledge_loaded' && (details['by'] ?? 'OPERATOR') === 'OPERATOR';
}

function chargeGroup(history: PackageHistory, changes: [Change, ...Change[]]): Fault[] {
  const [change] = changes;
  const deeds = history.deeds.filter((deed) => mayHaveCaused(deed, change));
  const possible = deeds.filter(({ end }) => end !== 'fail');
  if (changes.length <= possible.length) return [];
  const refused = deeds.find(({ end }) => end === 'fail');
  const check: CheckName = refused ? 'C3' : possible.length > 0 ? 'C9' : 'C7';
  const about =
    (refused ?? possible.find(({ end }) => end === 'unknown') ?? possible[0])?.calls[0] ??
    `event ${change.event.sequence}`;
  const what = `${change.action} of ${versionText(change.number)} by ${change.event.actorName}`;
  const expected = `${what} at most ${possible.length} times, as often as it was asked for and not refused`;
  return [faultsOf(check, history)(about, expected, `${changes.length} events`)];
}
