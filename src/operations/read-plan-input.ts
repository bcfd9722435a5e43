import { requireScope } from '../core/permissions.ts';
import type { CapturePolicy, KnownPackage } from '../core/plan-capture.ts';
import type { PackageName } from '../store/job-queue.ts';
import { countVersionsSince } from '../store/package-versions.ts';
import { findPackage } from '../store/packages.ts';
import type { CallContext, Policy } from './context.ts';
import { readKnownPackage } from './known-package.ts';

/** What a plan needs to know beside the look itself. */
export interface PlanInput {
  readonly known: KnownPackage;
  readonly policy: CapturePolicy;
}

/**
 * What a refresh of this package would be decided on if it happened now; reads without a lock and changes nothing. A
 * package that the database does not know yet is one without versions. Needs `knowledge:read`.
 */
export async function readPlanInput(context: CallContext, name: PackageName): Promise<PlanInput> {
  requireScope(context.caller, 'knowledge:read');
  const { agentKey, environment } = name;
  const hourAgo = new Date(context.clock().getTime() - 3_600_000);
  return context.database.read(async (queries) => {
    const row = await findPackage(queries, agentKey, environment);
    const nothing = planInputOfNothing(context.policy, environment);
    if (row === null) return nothing;
    const counts = nothing.policy.maxVersionsPerHour > 0;
    const versionsInLastHour = counts ? await countVersionsSince(queries, agentKey, environment, hourAgo) : 0;
    return {
      known: await readKnownPackage(queries, row),
      policy: { ...nothing.policy, versionsInLastHour },
    };
  });
}

/** The same where no version is known. */
export function planInputOfNothing(policy: Policy, environment: string): PlanInput {
  return {
    known: { nextNumber: 1, lastTicket: 0, held: false, active: null, newest: null },
    policy: {
      activate: policy.activate(environment),
      shrinkHold: policy.shrinkHold,
      acceptShrink: false,
      maxVersionsPerHour: policy.maxVersionsPerHour,
      versionsInLastHour: 0,
    },
  };
}
