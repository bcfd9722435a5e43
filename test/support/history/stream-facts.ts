import type { EventAction } from '../../../src/core/events.ts';
import { versionName } from '../../../src/core/package.ts';
import type { PackageHistory } from './fault.ts';
import type { StreamedChange } from './stream-record.ts';
import type { Change, PackageState } from './timeline.ts';

/** A change as a stream has to tell it. */
export interface StreamFact {
  readonly told: StreamedChange;
  /** The position of the package's timeline to which it leads. */
  readonly position: number;
}

const kinds: Readonly<Partial<Record<EventAction, string>>> = {
  'agent.knowledge_loaded': 'LOADED',
  'agent.knowledge_rollback': 'ACTIVATED',
  'agent.knowledge_held': 'HELD',
  'agent.knowledge_released': 'RELEASED',
};

/** Every change of a package as its log and its versions make a stream tell it; independent of what the product reads. */
export function factsOf(history: PackageHistory): StreamFact[] {
  return history.timeline.changes.map((change, index) => {
    const state = history.timeline.states[index + 1] as PackageState;
    return { told: toldOf(history, change, state), position: index + 1 };
  });
}

function toldOf(
  { final }: PackageHistory,
  { action, event, details, number }: Change,
  state: PackageState,
): StreamedChange {
  const isMove = action === 'agent.knowledge_rollback';
  const named = isMove || action === 'agent.knowledge_loaded' ? number : state.active;
  return {
    kind: kinds[action] ?? action,
    agentKey: event.agentKey ?? '',
    environment: event.environment ?? '',
    knowledgeVersion: named === null ? null : versionName(named),
    checksum: final.versions.find((version) => version.number === named)?.checksum ?? null,
    activated: isMove || details['activated'] === true,
    generation: state.generation,
    sequence: event.sequence,
    at: new Date(Math.floor(Number(event.timeMicros) / 1000)).toISOString(),
  };
}
