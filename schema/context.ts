import type { CallContext } from '../src/operations/context.ts';
import { createLoaders, type Loaders } from './loaders.ts';

/** What every resolver is given: the operations' context with its caller, and what belongs to this one request. */
export interface SchemaContext {
  readonly call: CallContext;
  readonly loaders: Loaders;
  /** Told to the caller and written into every log line about this request. */
  readonly requestId: string;
  readonly stream: StreamPlace;
}

/** Where a stream of changes stands, in numbers of the audit log. */
export interface StreamPlace {
  /** The reader's own word where to go on, from a header; it is newer than the document's. */
  readonly resumeAfter: number | null;
  /** Of the change that is being answered. */
  sequence: number | null;
  /** From where to go on once every answer that was given has been read. */
  place: (() => number) | null;
}

/** The context of one request; `isWanted`: whether its caller still waits. */
export function createSchemaContext(
  call: CallContext,
  requestId: string,
  exchange: { readonly resumeAfter?: number | null; readonly isWanted?: () => boolean } = {},
): SchemaContext {
  const { resumeAfter = null, isWanted = () => true } = exchange;
  return {
    call,
    requestId,
    loaders: createLoaders(call, isWanted),
    stream: { resumeAfter, sequence: null, place: null },
  };
}
