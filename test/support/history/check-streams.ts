import { gatherEvidence, type Evidence } from './evidence.ts';
import { faultsOf, type Fault, type PackageHistory } from './fault.ts';
import { describeCall } from './record.ts';
import { factsOf, type StreamFact } from './stream-facts.ts';
import type { CameLine, StreamFilter, Subscriber } from './stream-record.ts';

/** What the log says of all that a stream can tell, and of when it can have happened. */
interface Truth {
  readonly facts: ReadonlyMap<number, StreamFact>;
  readonly evidence: ReadonlyMap<string, Evidence>;
  /** The log's last number. */
  readonly end: number;
  readonly lagMs: number;
}

/**
 * C8: a subscriber is told each change that its filter lets through once, in the order of the log, from where it began to
 * the end of the run, however often it was cut off and came back; never before the change was committed, and what it is
 * told is what the log and the versions say (G13).
 */
export function checkStreams(
  subscribers: readonly Subscriber[],
  histories: readonly PackageHistory[],
  end: number,
): Fault[] {
  const truth: Truth = {
    facts: new Map(
      histories.flatMap((history) => factsOf(history).map((fact) => [fact.told.sequence, fact])),
    ),
    evidence: new Map(histories.map((history) => [history.name, gatherEvidence(history)])),
    end,
    lagMs: Math.max(0, ...histories.map(({ lagMs }) => lagMs)),
  };
  return subscribers.flatMap((subscriber) => [
    ...wrongPlaces(subscriber),
    ...gaps(subscriber, truth),
    ...wrongFacts(subscriber, truth),
    ...tooEarly(subscriber, truth),
    ...fallingGenerations(subscriber),
  ]);
}

/** Ordered and unique: every number is above the one before, and ids are the numbers. */
function wrongPlaces(subscriber: Subscriber): Fault[] {
  const faults: Fault[] = [];
  const seen = new Set<number>();
  for (const { after, told } of subscriber.segments) {
    let place = after ?? -1;
    for (const line of told) {
      const number = line.line === 'place' ? line.id : line.change.sequence;
      const what = line.line === 'place' ? 'its place' : number;
      const fault = (expected: string) =>
        faults.push(about(subscriber, what, line)(expected, `number ${number}`));
      if (line.line === 'came' && (line.id ?? number) !== number) fault(`the id ${line.id}`);
      if (line.line === 'came' && seen.has(number)) fault('each change once');
      else if (line.line === 'came' ? number <= place : number < place) fault(`a number above ${place}`);
      if (line.line === 'came') seen.add(number);
      place = Math.max(place, number);
    }
  }
  return faults;
}

/** Nothing is left out between where it began and where it ended. */
function gaps(subscriber: Subscriber, { facts, end }: Truth): Fault[] {
  const { filter, segments, left } = subscriber;
  const numbers = segments.flatMap(({ told }) =>
    told.map((line) => (line.line === 'place' ? line.id : line.change.sequence)),
  );
  const came = new Set(cameTo(subscriber).map(({ change }) => change.sequence));
  const begin = segments[0]?.after ?? numbers[0];
  if (begin === undefined) return [about(subscriber, 'its stream')('a place to begin', 'none')];
  const last = left ? Math.max(begin, ...numbers) : end;
  return [...facts.values()]
    .filter(({ told }) => told.sequence > begin && told.sequence <= last && isLetThrough(filter, told))
    .filter(({ told }) => !came.has(told.sequence))
    .map(({ told }) =>
      about(subscriber, told.sequence, { change: told })(
        `every change behind ${begin} and up to ${last}`,
        'not this one',
      ),
    );
}

/** What came is what the filter lets through, and in every field what log and versions say. */
function wrongFacts(subscriber: Subscriber, { facts }: Truth): Fault[] {
  return cameTo(subscriber).flatMap((line) => {
    const { change } = line;
    const fault = about(subscriber, change.sequence, line);
    const fact = facts.get(change.sequence);
    if (fact === undefined) return [fault('a change that the log tells of', change.kind)];
    const { agentKey, environment } = subscriber.filter;
    const faults = isLetThrough(subscriber.filter, change)
      ? []
      : [fault(`only changes of ${agentKey ?? 'any agent'} in ${environment}`, nameOf(change))];
    for (const [field, expected] of Object.entries(fact.told)) {
      const found = change[field as keyof typeof change];
      if (found !== expected) faults.push(fault(`${field} ${String(expected)}`, String(found)));
    }
    return faults;
  });
}

/** A change cannot come before somebody has asked for it, nor before somebody else was shown that it was not there yet. */
function tooEarly(subscriber: Subscriber, { facts, evidence, lagMs }: Truth): Fault[] {
  return cameTo(subscriber).flatMap((line) => {
    const fact = facts.get(line.change.sequence);
    const notYet = evidence.get(nameOf(line.change))?.notYet ?? [];
    const word = notYet.find(
      ({ position, at, maySayOld }) =>
        fact !== undefined && position <= fact.position && at - (maySayOld ? lagMs : 0) > line.at,
    );
    if (word === undefined) return [];
    const early = (word.at - line.at).toFixed(3);
    const expected = `it after its commit, which was not before ${describeCall(word.call)} began (${word.words})`;
    return [about(subscriber, line.change.sequence, line)(expected, `it ${early} ms earlier`)];
  });
}

/** A package's generation never falls for whoever follows it (G5). */
function fallingGenerations(subscriber: Subscriber): Fault[] {
  const last = new Map<string, number>();
  return cameTo(subscriber).flatMap((line) => {
    const { generation, sequence } = line.change;
    const before = last.get(nameOf(line.change)) ?? 0;
    last.set(nameOf(line.change), generation);
    if (generation >= before) return [];
    return [about(subscriber, sequence, line)(`generation ${before} or later`, `generation ${generation}`)];
  });
}

function cameTo({ segments }: Subscriber): CameLine[] {
  return segments.flatMap(({ told }) => told.filter((line) => line.line === 'came'));
}

function isLetThrough(filter: StreamFilter, change: { agentKey: string; environment: string }): boolean {
  return (
    (filter.agentKey === null || filter.agentKey === change.agentKey) &&
    filter.environment === change.environment
  );
}

function nameOf({ agentKey, environment }: { agentKey: string; environment: string }): string {
  return `${agentKey}/${environment}`;
}

function about(subscriber: Subscriber, what: string | number, line: object = {}) {
  const change = 'change' in line ? (line as Pick<CameLine, 'change'>).change : null;
  const name = change === null ? 'every package' : nameOf(change);
  const fault = faultsOf('C8', { name });
  const subject = typeof what === 'number' ? `change ${what}` : what;
  return (expected: string, found: string): Fault =>
    fault(`${subject} to ${subscriber.name}`, expected, found);
}
