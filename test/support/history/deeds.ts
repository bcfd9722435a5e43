import type { Call, End, Operation } from './record.ts';

/** What a client wanted done once: one call, or all calls under one idempotency key. */
export interface Deed {
  readonly client: string;
  readonly operation: Exclude<Operation, 'read'>;
  readonly arguments: Call['arguments'];
  readonly calls: readonly [Call, ...Call[]];
  readonly startedAt: number;
  /** When it was first known to be done; never where it is not known. */
  readonly doneAt: number;
  /** `ok` where any call was, `fail` where all calls were. */
  readonly end: End;
}

/** The deeds among the calls on one package. */
export function toDeeds(calls: readonly Call[]): Deed[] {
  const groups = new Map<string, Call[]>();
  for (const call of calls) {
    if (call.operation === 'read') continue;
    const { key } = call.arguments;
    const name = key === undefined ? call.id : JSON.stringify([call.client, call.operation, key]);
    groups.set(name, [...(groups.get(name) ?? []), call]);
  }
  return [...groups.values()].map((group) => toDeed(group as [Call, ...Call[]]));
}

/** The deeds that brought each content, first ones first, by `contentName`. */
export function bringersOf(deeds: readonly Deed[]): ReadonlyMap<string, readonly [Deed, ...Deed[]]> {
  const bringing = deeds
    .filter((deed) => deed.arguments.brings !== undefined)
    .toSorted((a, b) => a.startedAt - b.startedAt);
  const groups = Map.groupBy(bringing, ({ arguments: { brings } }) => (brings ? contentName(brings) : ''));
  return groups as Map<string, [Deed, ...Deed[]]>;
}

/** A content at its place. */
export function contentName(file: { readonly relativePath: string; readonly checksum: string }): string {
  return `${file.relativePath}\n${file.checksum}`;
}

function toDeed(calls: [Call, ...Call[]]): Deed {
  const [first] = calls;
  const done = calls.filter((call) => call.end === 'ok').map((call) => call.endedAt);
  return {
    client: first.client,
    operation: first.operation as Deed['operation'],
    arguments: first.arguments,
    calls,
    startedAt: Math.min(...calls.map((call) => call.startedAt)),
    doneAt: Math.min(Infinity, ...done),
    end: done.length > 0 ? 'ok' : calls.every((call) => call.end === 'fail') ? 'fail' : 'unknown',
  };
}
