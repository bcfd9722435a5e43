import type { FinalState } from './final-state.ts';
import { MadeHistory } from './made-history.ts';
import type { Call } from './record.ts';
import type { Subscriber } from './stream-record.ts';

/** A history with one thing wrong in it. */
export interface Planted {
  readonly calls: readonly Call[];
  readonly state: FinalState;
  readonly lagMs?: number;
  readonly streams?: readonly Subscriber[];
}

/** What is wrong, the sentence that must name it, and the history. */
export type PlantedFault = readonly [name: string, sentence: RegExp, plant: () => Planted];

/** v1 and v2, each read. */
export const plain = () => new MadeHistory().refresh('one').read().refresh('two').read();

/** A history as it was made; `change` is laid over the package's row. */
export const planted = (made: MadeHistory, change = {}): Planted => ({
  calls: made.calls,
  state: made.state(change),
});

export const withVersions = (
  made: MadeHistory,
  versions: FinalState['packages'][0]['versions'],
  nextNumber = versions.length + 1,
) => planted(made, { versions, nextNumber });

export const withEvents = (made: MadeHistory, events: FinalState['events']): Planted => ({
  calls: made.calls,
  state: { ...made.state(), events },
});

/** Gives the last event like this another actor; his name is no part of its hash. */
export function renameActor(
  made: MadeHistory,
  action: string,
  subject: string,
  actorName: string,
): MadeHistory {
  const at = made.events.findLastIndex((event) => event.action === action && event.subject === subject);
  made.events[at] = { ...made.events[at]!, actorName };
  return made;
}
