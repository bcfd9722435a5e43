import type { EventAction } from '../../../src/core/events.ts';
import { parseVersionName } from '../../../src/core/package.ts';
import type { FinalEvent } from './final-state.ts';

/** One package at one moment; what each number's checksum is never changes and stands with the versions. */
export interface PackageState {
  readonly generation: number;
  readonly active: number | null;
  readonly newest: number;
  readonly held: boolean;
}

/** An event that changed a package, with what it says about it. */
export interface Change {
  readonly event: FinalEvent;
  readonly action: EventAction;
  readonly details: Readonly<Record<string, unknown>>;
  /** The version it is about; null where it is about none. */
  readonly number: number | null;
}

/**
 * The states a package went through, as its log tells them: `states[0]` before the first change, `states[k]` after
 * change k, which is `changes[k - 1]`. A *position* is such a k.
 */
export interface Timeline {
  readonly changes: readonly Change[];
  readonly states: readonly PackageState[];
}

const changing: ReadonlySet<string> = new Set<EventAction>([
  'agent.knowledge_loaded',
  'agent.knowledge_rollback',
  'agent.knowledge_held',
  'agent.knowledge_released',
]);

/** Follows the events of one package. It believes the log; whether the log is right is for a check to say. */
export function followEvents(events: readonly FinalEvent[]): Timeline {
  const changes = events.filter((event) => changing.has(event.action)).map(toChange);
  const states: PackageState[] = [{ generation: 0, active: null, newest: 0, held: false }];
  for (const change of changes) states.push(after(states.at(-1) as PackageState, change));
  return { changes, states };
}

/** `<agent key>/<environment>`; null for an event that concerns no package. */
export function packageOf(event: FinalEvent): string | null {
  return event.agentKey === null ? null : `${event.agentKey}/${event.environment}`;
}

function toChange(event: FinalEvent): Change {
  return {
    event,
    action: event.action as EventAction,
    details: JSON.parse(event.details) as Change['details'],
    number: event.subject === null ? null : parseVersionName(event.subject),
  };
}

function after(state: PackageState, { action, details, number }: Change): PackageState {
  const moved = { ...state, active: number, generation: state.generation + 1 };
  if (action === 'agent.knowledge_held') return { ...state, held: true };
  if (action === 'agent.knowledge_released') return { ...state, held: false };
  if (action === 'agent.knowledge_rollback') return moved;
  const newest = number ?? state.newest;
  return details['activated'] === true ? { ...moved, newest } : { ...state, newest };
}

/** The first and the last position of a generation; null where there never was such a one. */
export function positionsOf({ states }: Timeline, generation: number): readonly [number, number] | null {
  const first = states.findIndex((state) => state.generation === generation);
  return first < 0 ? null : [first, states.findLastIndex((state) => state.generation === generation)];
}

/** The position at which a version came to be; null where no event tells of it. */
export function loadedAt({ changes }: Timeline, number: number): number | null {
  const index = changes.findIndex(
    (change) => change.action === 'agent.knowledge_loaded' && change.number === number,
  );
  return index < 0 ? null : index + 1;
}
