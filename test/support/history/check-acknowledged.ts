import type { Call } from './record.ts';
import { faultsOf, versionText, type Check, type Fault, type PackageHistory } from './fault.ts';
import { gatherEvidence } from './evidence.ts';
import { measureIntervals } from './intervals.ts';
import type { PackageState } from './timeline.ts';

/** C2: whatever was answered with success is there at the end, and took effect between question and answer (G7). */
export const checkAcknowledged: Check = (history) => {
  const { states } = history.timeline;
  const intervals = measureIntervals(gatherEvidence(history), history);
  const fault = faultsOf('C2', history);
  return history.calls.flatMap((call): Fault[] => {
    if (call.end !== 'ok' || call.operation === 'read') return [];
    const lost = [...lostVersion(history, call), ...lostGeneration(history, call)];
    if (lost.length > 0) return lost;
    const wanted = wantedState(call);
    const stood = states.some(
      (state, position) =>
        wanted.isIt(state) && intervals.mayHaveStood(position, firstStart(history, call), call.endedAt),
    );
    return stood ? [] : [fault(call, `${wanted.words} between its start and its end`, 'no such moment')];
  });
};

/** A call that is answered for an earlier one under the same key tells of that one's effect. */
function firstStart({ deeds }: PackageHistory, call: Call): number {
  return deeds.find(({ calls }) => calls.includes(call))?.startedAt ?? call.startedAt;
}

function lostVersion(history: PackageHistory, call: Call): Fault[] {
  const fault = faultsOf('C2', history);
  const { version } = call.result;
  if (version === undefined) return [];
  const kept = history.final.versions.find(({ number }) => number === version.number);
  if (kept === undefined)
    return [fault(call, `v${version.number}, which it was answered`, 'no such version')];
  if (version.checksum !== null && kept.checksum !== version.checksum) {
    return [fault(call, `v${version.number} with checksum ${version.checksum}`, kept.checksum)];
  }
  const { brings } = call.arguments;
  if (brings === undefined) return [];
  // G10: a refresh is answered from a look that began after it was asked for.
  const file = kept.files.find(({ relativePath }) => relativePath === brings.relativePath);
  if (file?.checksum === brings.checksum) return [];
  const expected = `v${version.number} with ${brings.relativePath} as saved before it was asked (${brings.checksum})`;
  return [fault(call, expected, file?.checksum ?? 'no such file')];
}

function lostGeneration(history: PackageHistory, call: Call): Fault[] {
  const generation = call.result.seen?.generation ?? 0;
  if (generation <= history.final.generation) return [];
  const fault = faultsOf('C2', history);
  return [
    fault(
      call,
      `generation ${generation}, which it was answered, or later`,
      `generation ${history.final.generation}`,
    ),
  ];
}

/** The state that a call which succeeded must have brought about, or found. */
function wantedState({ operation, arguments: { target, hold } }: Call): {
  words: string;
  isIt: (state: PackageState) => boolean;
} {
  if (operation === 'hold') return { words: 'a hold', isIt: ({ held }) => held };
  if (operation === 'release') return { words: 'no hold', isIt: ({ held }) => !held };
  if (operation === 'refresh') return { words: 'any state', isIt: () => true };
  const words = `${versionText(target)} active`;
  const isIt = ({ active, held }: PackageState) => active === target && (hold === undefined || held === hold);
  return { words, isIt };
}
