/** What a subscriber wants to be told of. */
export interface StreamFilter {
  /** Null: every agent of the environment. */
  readonly agentKey: string | null;
  readonly environment: string;
}

/** A change as a stream told it. */
export interface StreamedChange {
  readonly kind: string;
  readonly agentKey: string;
  readonly environment: string;
  readonly knowledgeVersion: string | null;
  readonly checksum: string | null;
  readonly activated: boolean;
  readonly generation: number;
  readonly sequence: number;
  readonly at: string;
}

interface Told {
  readonly subscriber: string;
  /** The machine's monotonic clock in milliseconds, the same for all processes. */
  readonly at: number;
}

/** A subscriber asks for a stream behind a number of the log; null: from now on. */
export interface OpenedLine extends Told {
  readonly line: 'opened';
  /** The server that was asked. */
  readonly process: string;
  readonly filter: StreamFilter;
  readonly after: number | null;
}

/** A change came, with its id where the reader shows ids. */
export interface CameLine extends Told {
  readonly line: 'came';
  readonly id: number | null;
  readonly change: StreamedChange;
}

/** An id without a change: everything up to it has come or is not for this subscriber. */
export interface PlaceLine extends Told {
  readonly line: 'place';
  readonly id: number;
}

/** The stream ended, and the subscriber will come back behind the last id. */
export interface CutLine extends Told {
  readonly line: 'cut';
  readonly why: string;
}

/** The subscriber wants no more: what happened since is not for it. */
export interface LeftLine extends Told {
  readonly line: 'left';
}

export type StreamLine = OpenedLine | CameLine | PlaceLine | CutLine | LeftLine;

/** One connection, from its opening to where it was cut. */
export interface Segment {
  readonly process: string;
  readonly after: number | null;
  readonly told: readonly (CameLine | PlaceLine)[];
}

export interface Subscriber {
  readonly name: string;
  readonly filter: StreamFilter;
  readonly segments: readonly Segment[];
  /** Whether it left by itself; who did not is owed everything to the end of the run. */
  readonly left: boolean;
}

/** The subscribers that these lines tell of. One that died in the middle has no line about its end. */
export function toSubscribers(lines: readonly StreamLine[]): Subscriber[] {
  const groups = Map.groupBy(lines, (line) => line.subscriber);
  return [...groups].map(([name, own]) => {
    const segments: { process: string; after: number | null; told: (CameLine | PlaceLine)[] }[] = [];
    let filter: StreamFilter = { agentKey: null, environment: '' };
    for (const line of own) {
      if (line.line === 'opened') {
        ({ filter } = line);
        segments.push({ process: line.process, after: line.after, told: [] });
      } else if (line.line === 'came' || line.line === 'place') {
        segments.at(-1)?.told.push(line);
      }
    }
    return { name, filter, segments, left: own.some(({ line }) => line === 'left') };
  });
}

/** Behind which number a subscriber has to go on, by what it has been told so far; null where it knows none. */
export function placeOf({ segments }: Subscriber): number | null {
  const told = segments.flatMap((segment) => [
    segment.after,
    ...segment.told.map((line) => (line.line === 'place' ? line.id : line.change.sequence)),
  ]);
  return told.findLast((number) => number !== null) ?? null;
}
