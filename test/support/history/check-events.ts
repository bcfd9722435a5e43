import { eventHash } from '../../../src/core/events.ts';
import { versionName } from '../../../src/core/package.ts';
import { unaskedChanges } from './check-refused.ts';
import { faultsOf, type Check, type Fault, type PackageHistory } from './fault.ts';
import type { FinalEvent } from './final-state.ts';
import type { Change, PackageState } from './timeline.ts';

/** C7: events and changes are one to one: each change has its event, each event its change and somebody who asked (G14). */
export const checkEvents: Check = (history) => [
  ...history.timeline.changes.flatMap((change, index) =>
    wrongDetails(history, change, history.timeline.states[index] as PackageState),
  ),
  ...untoldVersions(history),
  ...wrongEnd(history),
  ...unaskedChanges(history).filter(({ check }) => check === 'C7'),
];

/** C7 for the log as a whole: numbers without a gap, each event hashed over the one before it. */
export function checkChain(events: readonly FinalEvent[]): Fault[] {
  const fault = faultsOf('C7', { name: 'the log' });
  let previous = { sequence: 0, hash: '0'.repeat(64) };
  return events.flatMap((event) => {
    const before = previous;
    previous = event;
    const about = `event ${event.sequence}`;
    if (event.sequence !== before.sequence + 1) {
      return [fault(about, `event ${before.sequence + 1}`, `event ${event.sequence}`)];
    }
    if (event.previousHash !== before.hash) {
      return [fault(about, `the previous hash ${before.hash}`, event.previousHash)];
    }
    const hash = eventHash(event);
    return hash === event.hash ? [] : [fault(about, `the hash ${hash}`, event.hash)];
  });
}

/** What an event says about the state it was written in must be the state that the events before it lead to. */
function wrongDetails(history: PackageHistory, change: Change, before: PackageState): Fault[] {
  const { details, event } = change;
  const expected = expectedDetails(history, change, before);
  const fault = faultsOf('C7', history);
  return Object.entries(expected).flatMap(([name, value]) => {
    const found = name === 'subject' ? event.subject : (details[name] ?? null);
    return found === value
      ? []
      : [fault(`event ${event.sequence}`, `${name} ${String(value)}`, JSON.stringify(found))];
  });
}

function expectedDetails(
  { final }: PackageHistory,
  { action, number, details }: Change,
  { active, newest, generation }: PackageState,
): Record<string, unknown> {
  const activeName = active === null ? null : versionName(active);
  if (action === 'agent.knowledge_rollback') {
    return { from: activeName, to: versionName(number ?? 0), generation: generation + 1 };
  }
  if (action !== 'agent.knowledge_loaded') return {};
  const version = final.versions.find((candidate) => candidate.number === newest + 1);
  return {
    subject: versionName(newest + 1),
    number: newest + 1,
    checksum: version?.checksum ?? `of a v${newest + 1} that is kept`,
    previousActive: activeName,
    generation: generation + (details['activated'] === true ? 1 : 0),
  };
}

function untoldVersions(history: PackageHistory): Fault[] {
  const told = new Set(
    history.timeline.changes.flatMap(({ action, number }) =>
      action === 'agent.knowledge_loaded' ? [number] : [],
    ),
  );
  return history.final.versions
    .filter(({ number }) => !told.has(number))
    .map(({ number }) => faultsOf('C7', history)(`v${number}`, 'an event that tells of it', 'none'));
}

/** Where the events lead is where the package is. */
function wrongEnd(history: PackageHistory): Fault[] {
  const end = history.timeline.states.at(-1) as PackageState;
  const { active, generation, held } = history.final;
  const fault = faultsOf('C7', history);
  return Object.entries({ active, generation, held }).flatMap(([name, found]) => {
    const told = end[name as 'active' | 'generation' | 'held'];
    return told === found ? [] : [fault('its row', `${name} ${told}, as its events tell`, String(found))];
  });
}
