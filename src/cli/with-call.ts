import { KnowledgeError, type KnowledgeErrorCode } from '../core/errors.ts';
import type { CallContext } from '../operations/context.ts';
import { resolveEnvironment } from '../operations/names.ts';
import { adviseOnName, type AskedName } from './advice.ts';
import type { Cli } from './cli.ts';

/** What a command on the database may say beforehand. */
export interface CallOptions {
  /** The environments it is about, as they were given; an unknown one is refused before anything is opened. */
  readonly environments?: readonly (string | undefined)[];
  /** The package it is about: where it or its version is not there, what is there is told. */
  readonly about?: AskedName;
  /** For a refusal of each kind, what to do about it: a sentence that names a command. */
  readonly next?: Partial<Record<KnowledgeErrorCode, string>>;
}

/** Runs a command's work on the database; a refusal names the command that helps. */
export async function withCall<T>(
  cli: Cli,
  work: (call: CallContext) => Promise<T>,
  options: CallOptions = {},
): Promise<T> {
  const policy = cli.deps.policy();
  for (const environment of options.environments ?? []) resolveEnvironment(policy, environment);
  try {
    await using call = await cli.deps.openCall();
    try {
      // Not without the wait, or the database would be closed under the work.
      return await work(call);
    } catch (error) {
      const { about } = options;
      throw about !== undefined && isNotFound(error) ? await adviseOnName(call, about, error) : error;
    }
  } catch (error) {
    throw advise(error, options.next);
  }
}

function isNotFound(error: unknown): error is KnowledgeError {
  return error instanceof KnowledgeError && error.code === 'NOT_FOUND';
}

function advise(error: unknown, next: CallOptions['next'] = {}): unknown {
  const advice = error instanceof KnowledgeError ? next[error.code] : undefined;
  if (!(error instanceof KnowledgeError) || advice === undefined) return error;
  const { code, message, details } = error;
  return new KnowledgeError(code, `${message} ${advice}`, { details, cause: error });
}
