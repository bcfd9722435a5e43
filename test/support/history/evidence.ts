import type { PackageHistory } from './fault.ts';
import { describeCall, type Call } from './record.ts';
import { loadedAt, positionsOf, type Change } from './timeline.ts';
import { bringersOf, contentName, type Deed } from './deeds.ts';

/** At this time the package had come to this position at least, since somebody had been told so. */
export interface Reached {
  readonly position: number;
  readonly at: number;
  readonly call: Call;
}

/** At this time it had not come to this position yet: somebody began then and saw an earlier state, or it was not asked for. */
export interface NotYet {
  readonly position: number;
  readonly at: number;
  readonly call: Call;
  /** Whether a process that answers from its own memory may have said so. */
  readonly maySayOld: boolean;
  readonly words: string;
}

/** What the calls tell of the times at which a package changed. The log gives the order, so times are all there is to judge. */
export interface Evidence {
  readonly reached: readonly Reached[];
  readonly notYet: readonly NotYet[];
}

export function gatherEvidence(history: PackageHistory): Evidence {
  const seen = history.calls.flatMap((call) => {
    const range =
      call.end === 'ok' && call.result.seen
        ? positionsOf(history.timeline, call.result.seen.generation)
        : null;
    return range === null ? [] : [{ call, first: range[0], last: range[1] }];
  });
  return {
    reached: [
      ...seen.map(({ call, first }) => ({ position: first, at: call.endedAt, call })),
      ...history.deeds.flatMap((deed) => versionReached(history, deed)),
    ],
    notYet: [
      ...seen.map(({ call, last }) => ({
        position: last + 1,
        at: call.startedAt,
        call,
        maySayOld: call.operation === 'read',
        words: `generation ${call.result.seen?.generation}`,
      })),
      ...contentNotYet(history),
      ...changesNotYet(history),
    ],
  };
}

function versionReached({ timeline }: PackageHistory, { calls }: Deed): Reached[] {
  return calls.flatMap((call) => {
    const number = call.end === 'ok' ? call.result.version?.number : undefined;
    const position = number === undefined ? null : loadedAt(timeline, number);
    return position === null ? [] : [{ position, at: call.endedAt, call }];
  });
}

/** No version holds content that nobody had brought yet. */
function contentNotYet({ timeline, deeds, final }: PackageHistory): NotYet[] {
  const holding = new Map<string, number>();
  for (const { number, files } of final.versions.toReversed()) {
    for (const file of files) holding.set(contentName(file), number);
  }
  return [...bringersOf(deeds)].flatMap(([content, [{ startedAt, calls }]]) => {
    const number = holding.get(content);
    const position = number === undefined ? null : loadedAt(timeline, number);
    if (position === null) return [];
    const words = `the content of v${number}, brought later`;
    return [{ position, at: startedAt, call: calls[0], maySayOld: false, words }];
  });
}

/** Of a client's equal changes the n-th cannot have happened before it had asked n times. */
function changesNotYet({ timeline, deeds }: PackageHistory): NotYet[] {
  const counts = new Map<string, number>();
  return timeline.changes.flatMap((change, index) => {
    if (change.action !== 'agent.knowledge_rollback') return [];
    const name = `${change.event.actorName} ${change.number}`;
    const nth = counts.get(name) ?? 0;
    counts.set(name, nth + 1);
    const asking = deeds.filter((deed) => mayHaveCaused(deed, change))[nth];
    if (asking === undefined) return [];
    const [call] = asking.calls;
    const words = `${describeCall(call)}, which had not begun`;
    return [{ position: index + 1, at: asking.startedAt, call, maySayOld: false, words }];
  });
}

/** Whether this deed can be what this change of a pointer comes from, however it ended. */
export function mayHaveCaused(deed: Deed, change: Change): boolean {
  if (deed.client !== change.event.actorName) return false;
  const { target, hold, activateNewest } = deed.arguments;
  switch (change.action) {
    case 'agent.knowledge_rollback':
      return (deed.operation === 'activate' && target === change.number) || activateNewest === true;
    case 'agent.knowledge_held':
      return deed.operation === 'hold' || hold === true;
    case 'agent.knowledge_released':
      return deed.operation === 'release' || hold === false;
    default:
      return false;
  }
}
