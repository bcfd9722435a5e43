import { KnowledgeError } from '../core/errors.ts';
import { parseVersionName, versionName } from '../core/package.ts';
import { requireScope } from '../core/permissions.ts';
import type { ActivationPlan } from '../core/plan-activation.ts';
import type { Queries } from '../store/database.ts';
import type { PackageName } from '../store/job-queue.ts';
import { readVersions, type VersionRow } from '../store/package-versions.ts';
import { keepRemark } from '../store/remarks.ts';
import type { CallContext } from './context.ts';
import { applyHold, applyRelease, lockExisting, parseReason } from './hold-package.ts';
import { once } from './idempotency.ts';
import { carryOutMove, planMove, type Move } from './move-pointer.ts';
import { resolvePackage } from './names.ts';

export interface ActivateInput {
  readonly agentKey: string;
  readonly environment?: string | null | undefined;
  readonly knowledgeVersion: string;
  readonly expectedActive?: string | null | undefined;
  readonly hold?: boolean | null | undefined;
  readonly reason?: string | null | undefined;
  readonly idempotencyKey?: string | null | undefined;
}

/**
 * Makes an existing version the active one of its environment by moving the pointer, and nothing else: no content, no
 * number, no other environment changes (K-066…K-070). Activating the active version changes and audits nothing (G-14).
 *
 * Needs `ai.knowledge.rollback`. Throws `NOT_FOUND`, `CONFLICT` with the current version where `expectedActive` is
 * wrong, `FORBIDDEN`, `BAD_USER_INPUT`.
 */
export async function activateVersion(context: CallContext, input: ActivateInput): Promise<PackageName> {
  requireScope(context.caller, 'ai.knowledge.rollback');
  const name = resolvePackage(context, input.agentKey, input.environment);
  const reason = typeof input.reason === 'string' ? parseReason(input.reason) : null;
  await once(context, { mutation: 'activate', input, subject: name }, async (queries) => {
    const row = await lockExisting(queries, name);
    const target = await findTarget(queries, name, input.knowledgeVersion);
    const plan = planMove(
      context,
      { row, target },
      {
        expectedActive: input.expectedActive ?? null,
        hold: input.hold ?? null,
      },
    );
    await carryOut(queries, { row, target, plan, reason, context });
    return 'package';
  });
  return name;
}

async function findTarget(
  queries: Queries,
  name: PackageName,
  knowledgeVersion: string,
): Promise<VersionRow> {
  const number = parseVersionName(knowledgeVersion);
  const [found] =
    number === null ? [] : await readVersions(queries, [{ ...name, number }], { staleAfterMs: 0 });
  if (found) return found;
  throw versionNotFound(name, knowledgeVersion);
}

/** The refusal for a version that is not there. */
export function versionNotFound(name: PackageName, knowledgeVersion: string): KnowledgeError {
  const wanted = JSON.stringify(knowledgeVersion.slice(0, 40));
  return new KnowledgeError('NOT_FOUND', `${name.agentKey} has no version ${wanted} in ${name.environment}.`);
}

interface Activation extends Move {
  readonly plan: ActivationPlan;
  readonly reason: string | null;
  readonly context: CallContext;
}

async function carryOut(queries: Queries, activation: Activation): Promise<void> {
  const { row, target, plan, reason, context } = activation;
  const actorId = context.caller.actorId;
  const text = reason ?? `Held with the activation of ${versionName(target.number)}.`;
  const reasonHash = plan.hold === 'set' ? await keepRemark(queries, text) : null;
  await carryOutMove(queries, activation, plan, actorId);
  if (reasonHash !== null) {
    await applyHold(queries, row, { cause: 'OPERATOR', actorId, reasonHash, at: context.clock() });
  }
  if (plan.hold === 'end') await applyRelease(queries, row, actorId);
}
