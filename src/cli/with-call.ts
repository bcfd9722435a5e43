import { KnowledgeError, type KnowledgeErrorCode } from '../core/errors.ts';
import type { CallContext } from '../operations/context.ts';
import { resolveEnvironment } from '../operations/names.ts';
import type { Cli } from './cli.ts';

/** What a command on the database may say beforehand. */
export interface CallOptions {
  /** The environments it is about, as they were given; an unknown one is refused before anything is opened. */
  readonly environments?: readonly (string | undefined)[];
  /** For a refusal of each kind, what to do about it: a sentence that names a command. */
  readonly next?: Partial<Record<KnowledgeErrorCode, string>>;
}

const usualNext = { NOT_FOUND: 'See "npx agent-knowledge packages".' };

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
    // Not without the wait, or the database would be closed under the work.
    return await work(call);
  } catch (error) {
    throw advise(error, { ...usualNext, ...options.next });
  }
}

function advise(error: unknown, next: NonNullable<CallOptions['next']>): unknown {
  const advice = error instanceof KnowledgeError ? next[error.code] : undefined;
  if (!(error instanceof KnowledgeError) || advice === undefined) return error;
  const { code, message, details } = error;
  return new KnowledgeError(code, `${message} ${advice}`, { details, cause: error });
}
