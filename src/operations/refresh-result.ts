import { faultsMessage } from '../core/finding.ts';
import { versionName } from '../core/package.ts';
import type { RefreshPlan } from '../core/plan-refresh.ts';
import type { AttemptResult } from '../store/refreshes.ts';

/** What a plan says to those who asked for the refresh. */
export function toResult(plan: RefreshPlan): AttemptResult {
  const nothing = {
    reason: null,
    message: null,
    faults: [],
    warnings: [],
    matchingNumber: null,
    loadedNumber: null,
  };
  switch (plan.outcome) {
    case 'LOADED':
      return {
        ...nothing,
        outcome: plan.outcome,
        message: loadedMessage(plan),
        warnings: plan.warnings,
        loadedNumber: plan.number,
      };
    case 'UNCHANGED':
      return {
        ...nothing,
        outcome: plan.outcome,
        reason: 'same_checksum',
        message: `The source holds what ${versionName(plan.matchingNumber)} holds; nothing was changed.`,
        warnings: plan.warnings,
        matchingNumber: plan.matchingNumber,
      };
    case 'FAILED':
    case 'VALIDATION_FAILED':
      return {
        ...nothing,
        outcome: plan.outcome,
        reason: plan.faults[0].code,
        message: faultsMessage(plan.faults, plan.warnings),
        faults: plan.faults,
        warnings: plan.warnings,
      };
    case 'SUPERSEDED':
      return { ...nothing, outcome: plan.outcome, reason: null, message: 'A newer look finished first.' };
    default:
      return plan satisfies never;
  }
}

function loadedMessage(plan: Extract<RefreshPlan, { outcome: 'LOADED' }>): string {
  const name = versionName(plan.number);
  if (plan.activates) return `${name} is active.`;
  if (plan.hold !== null) return `${name} was stored and the package is held: ${plan.hold.reason}`;
  return `${name} was stored and waits to be activated.`;
}
