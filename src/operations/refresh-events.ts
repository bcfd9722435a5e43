import { findingFacts, type NewEvent } from '../core/events.ts';
import { versionName, type Sha256 } from '../core/package.ts';
import type { JudgedLook, RefreshPlan } from '../core/plan-refresh.ts';
import type { PackageLook } from '../core/look.ts';
import type { PackageName } from '../store/job-queue.ts';
import type { PackageRow } from '../store/packages.ts';

/** What the log is told of a look, whatever it came to. */
export interface LookFacts {
  readonly name: PackageName;
  readonly ticket: number;
  readonly trigger: string;
  readonly registryChecksum: Sha256;
  /** The number of a version that this look shows to have been captured between two saves, perhaps. */
  readonly possiblyTorn: number | null;
}

/** The event of a version that a look has made. */
export function loadedEvent(
  facts: LookFacts & { readonly actorId: number },
  row: PackageRow,
  plan: Extract<RefreshPlan, { outcome: 'LOADED' }>,
): NewEvent {
  return {
    actorId: facts.actorId,
    action: 'agent.knowledge_loaded',
    ...facts.name,
    subject: versionName(plan.number),
    details: {
      version: versionName(plan.number),
      number: plan.number,
      checksum: plan.bundle.checksum,
      previousActive: row.activeNumber === null ? null : versionName(row.activeNumber),
      activated: plan.activates,
      held: row.hold !== null || plan.hold !== null,
      generation: row.generation + (plan.activates ? 1 : 0),
      ticket: facts.ticket,
      trigger: facts.trigger,
      registryChecksum: facts.registryChecksum,
      warnings: plan.warnings.map((warning) => ({ code: warning.code, path: warning.relativePath })),
      skippedOptional: plan.skippedOptional,
      ...(facts.possiblyTorn === null ? {} : { possiblyTorn: versionName(facts.possiblyTorn) }),
    },
  };
}

/** What is said of a look that made no version; who says it is added by the caller. */
export function emptyLookEvent(
  facts: LookFacts,
  plan: Extract<RefreshPlan, { outcome: 'UNCHANGED' | 'FAILED' | 'VALIDATION_FAILED' }>,
): Omit<NewEvent, 'actorId'> {
  if (plan.outcome === 'UNCHANGED') {
    const details = { matchingVersion: versionName(plan.matchingNumber), checksum: plan.checksum };
    return { action: 'agent.knowledge_unchanged', ...facts.name, details };
  }
  return {
    action: plan.outcome === 'FAILED' ? 'agent.knowledge_failed' : 'agent.knowledge_validation_failed',
    ...facts.name,
    details: {
      reason: plan.faults[0].code,
      findings: findingFacts(plan.faults),
      registryChecksum: facts.registryChecksum,
    },
  };
}

/** Tells one failure from another, so that a fault that stays is audited once: reason, path, and what the file holds. */
export function failureSignature(look: PackageLook, judged: JudgedLook): string | null {
  const first = judged.faults[0];
  if (first === undefined) return null;
  const files = look.root === 'present' ? look.files : [];
  const file = files.find((candidate) => candidate.relativePath === first.relativePath);
  return JSON.stringify([first.code, first.relativePath, file?.state === 'present' ? file.checksum : null]);
}
