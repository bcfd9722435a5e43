import { KnowledgeError } from '../core/errors.ts';
import { canSee, hasScope, requireScope, type Caller } from '../core/permissions.ts';
import { readHead, type Change } from '../store/changes.ts';
import type { CallContext } from './context.ts';
import type { Followed } from './knowledge-feed.ts';
import { resolveEnvironment, resolvePackage } from './names.ts';
import { readPackageOf } from './read-knowledge.ts';

export interface FollowRequest {
  readonly agentKey?: string | null | undefined;
  /** Left out: the default one. */
  readonly environment?: string | null | undefined;
  /** The number of the last change that was seen; left out: from now on. */
  readonly afterSequence?: number | null | undefined;
}

/** How far back a follower may go on, in events of the log: what bounds the work of catching up. `auditEvents` has all of it. */
export const maxResumeEvents = 10_000;

/** Streams that one key and one process keep open (T37). A person with `admin` is bounded by the process alone. */
export const streamLimits = { perCredential: 10, perProcess: 2000 } as const;

/**
 * Every capture, pointer move, hold and release of one package or of an environment's, each once and in order, within
 * a second of its commit. Needs `knowledge:read`.
 *
 * Throws `NOT_FOUND` for an unknown agent or environment, `BAD_USER_INPUT` for a negative number, `RESET` where the log
 * cannot go on from it: it is too far back, or ahead of the log. `RATE_LIMITED` above the limits.
 */
export async function followKnowledge(context: CallContext, request: FollowRequest): Promise<Followed> {
  requireScope(context.caller, 'knowledge:read');
  const agentKey = request.agentKey ?? null;
  const environment = await knownEnvironment(context, agentKey, request.environment);
  const after = await startOf(context, request.afterSequence ?? null);
  const sees = (change: Change) =>
    (agentKey === null || change.agentKey === agentKey) &&
    change.environment === environment &&
    canSee(context.caller, change.agentKey, change.environment);
  // In one step with taking the place: of many who ask at once none may pass on what another is about to take.
  assertRoom(context.feed.callers, context.caller);
  return context.feed.follow({ caller: context.caller, after, agentKey, environment, sees });
}

/** Every change of every package, for a process that acts for its operator. */
export async function followEverything(context: CallContext): Promise<AsyncIterableIterator<Change>> {
  requireScope(context.caller, 'admin');
  const after = await context.database.read(readHead);
  const everything = { agentKey: null, environment: null, sees: () => true };
  return (await context.feed.follow({ caller: context.caller, after, ...everything })).changes;
}

/** A name that is not there would be a stream that stays silent for ever. */
async function knownEnvironment(
  context: CallContext,
  agentKey: string | null,
  environment: string | null | undefined,
): Promise<string> {
  if (agentKey === null) return resolveEnvironment(context.policy, environment);
  const name = resolvePackage(context, agentKey, environment);
  await readPackageOf(context, name);
  return name.environment;
}

async function startOf(context: CallContext, afterSequence: number | null): Promise<number> {
  if (afterSequence !== null && afterSequence < 0) {
    throw new KnowledgeError(
      'BAD_USER_INPUT',
      `afterSequence must be the sequence of a change that was seen, or 0; found ${afterSequence}.`,
    );
  }
  const head = await context.database.read(readHead);
  if (afterSequence === null) return head;
  const oldest = Math.max(0, head - maxResumeEvents);
  if (afterSequence >= oldest && afterSequence <= head) return afterSequence;
  const why =
    afterSequence > head
      ? `the log has only come to ${head}, so this number is of another database`
      : `only what follows ${oldest} is kept for this; auditEvents has it all`;
  throw new KnowledgeError(
    'RESET',
    `Cannot go on after ${afterSequence}: ${why}. Read the active version again and follow without afterSequence.`,
    { details: { oldest, newest: head } },
  );
}

function assertRoom(callers: readonly Caller[], caller: Caller): void {
  if (callers.length >= streamLimits.perProcess) {
    throw tooMany(`This server keeps at most ${streamLimits.perProcess} streams open`);
  }
  if (hasScope(caller, 'admin')) return;
  const own = callers.filter(({ actorId }) => actorId === caller.actorId);
  if (own.length >= streamLimits.perCredential) {
    throw tooMany(`One key keeps at most ${streamLimits.perCredential} streams open`);
  }
}

function tooMany(limit: string): KnowledgeError {
  return new KnowledgeError('RATE_LIMITED', `${limit}. Close one, then ask again.`, {
    details: { retryAfterMs: 5000 },
  });
}
