import { KnowledgeError } from './errors.ts';
import { parseVersionName, versionName } from './package.ts';

export interface ActivationInput {
  readonly target: { readonly number: number; readonly loadedBy: number };
  readonly activeNumber: number | null;
  readonly held: boolean;
  /** What the caller believes to be active, as `v3`; null: it does not say. */
  readonly expectedActive: string | null;
  /** True holds, false ends a hold, null leaves the hold as it is. */
  readonly hold: boolean | null;
  readonly holdOnRollback: boolean;
  readonly actorId: number;
  /** Whether whoever loaded a version may not activate it here (`AGENT_KNOWLEDGE_SECOND_PERSON`). */
  readonly secondPerson: boolean;
}

export interface ActivationPlan {
  /** False: the version is active already, nothing moves and nothing is audited (G-14). */
  readonly moves: boolean;
  readonly direction: 'forward' | 'back';
  readonly hold: 'set' | 'end' | 'keep';
}

/**
 * Decides what `activate` does to a package: one pointer move, or nothing; pure and total.
 *
 * Throws `KnowledgeError`: `CONFLICT` with the current version where the caller's belief is wrong, `FORBIDDEN` where a
 * second person is needed (K-066…K-069).
 */
export function planActivation(input: ActivationInput): ActivationPlan {
  assertExpected(input);
  const moves = input.target.number !== input.activeNumber;
  if (moves && input.secondPerson && input.target.loadedBy === input.actorId) {
    throw new KnowledgeError(
      'FORBIDDEN',
      `${versionName(input.target.number)} was loaded by you; in this environment a second person must activate it.`,
    );
  }
  const back = input.activeNumber !== null && input.target.number < input.activeNumber;
  const wantsHold = input.hold ?? (back && input.holdOnRollback ? true : null);
  return { moves, direction: back ? 'back' : 'forward', hold: planHold(wantsHold, input.held) };
}

function assertExpected({ expectedActive, activeNumber }: ActivationInput): void {
  if (expectedActive === null) return;
  const expected = parseVersionName(expectedActive);
  if (expected === null) {
    throw new KnowledgeError(
      'BAD_USER_INPUT',
      `expectedActive must name a version, such as "v3"; found ${JSON.stringify(expectedActive.slice(0, 40))}.`,
    );
  }
  if (expected === activeNumber) return;
  const current = activeNumber === null ? null : versionName(activeNumber);
  throw new KnowledgeError(
    'CONFLICT',
    `Expected ${expectedActive} to be active; ${current ?? 'no version'} is. Nothing was changed.`,
    { details: { current } },
  );
}

function planHold(wantsHold: boolean | null, held: boolean): ActivationPlan['hold'] {
  if (wantsHold === true && !held) return 'set';
  if (wantsHold === false && held) return 'end';
  return 'keep';
}
