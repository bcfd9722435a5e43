import type { CallContext } from '../src/operations/context.ts';
import { createLoaders, type Loaders } from './loaders.ts';

/** What every resolver is given: the operations' context with its caller, and what belongs to this one request. */
export interface SchemaContext {
  readonly call: CallContext;
  readonly loaders: Loaders;
  /** Told to the caller and written into every log line about this request. */
  readonly requestId: string;
}

/** The context of one request. */
export function createSchemaContext(call: CallContext, requestId: string): SchemaContext {
  return { call, requestId, loaders: createLoaders(call) };
}
