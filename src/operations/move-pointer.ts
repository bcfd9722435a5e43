import { versionName } from '../core/package.ts';
import { planActivation, type ActivationPlan } from '../core/plan-activation.ts';
import type { Queries } from '../store/database.ts';
import { appendEvent } from '../store/knowledge-events.ts';
import type { VersionRow } from '../store/package-versions.ts';
import { movePointer, type PackageRow } from '../store/packages.ts';
import type { CallContext } from './context.ts';

/** A locked package and the version a person wants active in it. */
export interface Move {
  readonly row: PackageRow;
  readonly target: VersionRow;
}

/** What the rules make of a person's wish; throws as `planActivation` does. */
export function planMove(
  context: CallContext,
  { row, target }: Move,
  asked: { readonly expectedActive: string | null; readonly hold: boolean | null },
): ActivationPlan {
  return planActivation({
    ...asked,
    target: { number: target.number, loadedBy: target.loadedById },
    activeNumber: row.activeNumber,
    held: row.hold !== null,
    holdOnRollback: context.policy.holdOnRollback,
    actorId: context.caller.actorId,
    secondPerson: context.policy.secondPersonEnvironments.includes(row.environment),
  });
}

/** Moves the pointer, with its event, where the plan says so (K-068, K-070). */
export async function carryOutMove(
  queries: Queries,
  { row, target }: Move,
  plan: ActivationPlan,
  actorId: number,
): Promise<void> {
  if (!plan.moves) return;
  await movePointer(queries, row, target.number);
  await appendEvent(queries, {
    actorId,
    action: 'agent.knowledge_rollback',
    agentKey: row.agentKey,
    environment: row.environment,
    subject: versionName(target.number),
    details: {
      from: row.activeNumber === null ? null : versionName(row.activeNumber),
      to: versionName(target.number),
      direction: plan.direction,
      held: plan.hold === 'set' || (plan.hold === 'keep' && row.hold !== null),
      generation: row.generation + 1,
    },
  });
}
