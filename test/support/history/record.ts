/** How a call ended for its client: done, certainly not done, or nobody knows (`reliability.md` 3.5). */
export type End = 'ok' | 'fail' | 'unknown';
export type Operation = 'refresh' | 'activate' | 'hold' | 'release' | 'read';

/** What a client asked for, as far as a check needs it. */
export interface CallArguments {
  /** A refresh: the content it put into the source before it asked; nobody else ever puts the same there. */
  readonly brings?: { readonly relativePath: string; readonly checksum: string };
  /** An activation: the number of the version. */
  readonly target?: number;
  /** An activation that holds as well. */
  readonly hold?: boolean;
  readonly activateNewest?: boolean;
  /** The idempotency key: calls of one client that share it are one deed. */
  readonly key?: string;
}

/** A file as a reader got it: what was said of it, and what its bytes hash to. */
export interface SeenFile {
  readonly relativePath: string;
  readonly checksum: string;
  readonly contentChecksum: string | null;
}

/** Where a pointer stood, read in one snapshot. */
export interface SeenPointer {
  readonly generation: number;
  readonly active: number | null;
  readonly checksum: string | null;
}

/** What a client was answered. */
export interface CallResult {
  /** A refresh: the version it made or found to match. */
  readonly version?: { readonly number: number; readonly checksum: string | null };
  readonly seen?: SeenPointer;
  /** A CONFLICT: the version that was active. */
  readonly current?: number | null;
  /** Every file of the version seen, in load order. */
  readonly files?: readonly SeenFile[];
  /** A refresh's outcome, or the code and sentence of a refusal: for people. */
  readonly note?: string;
}

interface Asked {
  /** The process that was asked: a read of another one than wrote may lag where the check says so. */
  readonly process: string;
  /** The name that the log gives this client as an actor. A client asks for one pointer at a time, else C5 says nothing. */
  readonly client: string;
  readonly operation: Operation;
  /** `<agent key>/<environment>`. */
  readonly package: string;
  readonly arguments: CallArguments;
}

/** What is logged when a call begins. `at` is the machine's monotonic clock in milliseconds, the same for all processes. */
export interface StartLine extends Asked {
  readonly line: 'start';
  readonly id: string;
  readonly at: number;
}

/** What is logged when it ends. */
export interface EndLine {
  readonly line: 'end';
  readonly id: string;
  readonly at: number;
  readonly end: End;
  readonly result: CallResult;
}

export type Line = StartLine | EndLine;
export type Request = Asked;
export type Outcome = Pick<EndLine, 'end' | 'result'>;

/** A call from its start to its end; one that never ended has ended at no time, and nobody knows how. */
export interface Call extends Asked {
  readonly id: string;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly end: End;
  readonly result: CallResult;
}

/** The calls that these lines tell of, in the order in which they began. */
export function toCalls(lines: readonly Line[]): Call[] {
  const ends = new Map(lines.flatMap((line) => (line.line === 'end' ? [[line.id, line]] : [])));
  return lines.flatMap((line) => {
    if (line.line === 'end') return [];
    const { line: _, at: startedAt, ...asked } = line;
    const end = ends.get(line.id);
    const ending = end ?? { at: Infinity, end: 'unknown' as const, result: {} };
    return [{ ...asked, startedAt, endedAt: ending.at, end: ending.end, result: ending.result }];
  });
}

/** A call in words. */
export function describeCall(call: Call): string {
  const { target } = call.arguments;
  return `${call.operation}${target === undefined ? '' : ` of v${target}`} ${call.id} by ${call.client}`;
}
