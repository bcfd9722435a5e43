import { findingFacts, type EventAction } from '../core/events.ts';
import type { Finding } from '../core/finding.ts';
import type { PackageLook } from '../core/look.ts';
import { versionName, type PackageDefinition, type Sha256, type SourceType } from '../core/package.ts';
import type { CapturePolicy } from '../core/plan-capture.ts';
import { judgeLook, planRefresh, type JudgedLook, type RefreshPlan } from '../core/plan-refresh.ts';
import { insertBlobs } from '../store/blobs.ts';
import type { Queries } from '../store/database.ts';
import type { PackageName } from '../store/job-queue.ts';
import { appendEvent } from '../store/knowledge-events.ts';
import { drawTicket } from '../store/looks.ts';
import { appendVersion, countVersionsSince } from '../store/package-versions.ts';
import { findPackage, movePointer, raiseTicket, takeNumber, type PackageRow } from '../store/packages.ts';
import {
  claimAttempts,
  finishAttempts,
  releaseAttempts,
  type AttemptResult,
  type AttemptRow,
} from '../store/refreshes.ts';
import { keepRemark } from '../store/remarks.ts';
import { reportLook } from '../store/source-status.ts';
import type { Context } from './context.ts';
import { applyHold, lockExisting } from './hold-package.ts';
import { readKnownPackage } from './known-package.ts';

/** What made a look happen; told in the event of a loaded version. */
export type LookTrigger = 'request' | 'watch' | 'sweep' | 'resync' | 'registry' | 'start';

/** Who looks: a daemon, or a command line that stands in for one. */
export interface Looker {
  /** Unique per process; attempts taken by a looker that is gone are put back. */
  readonly id: string;
  readonly actorId: number;
}

/** A look about to happen: its ticket, and the requests it will answer. */
export interface OpenLook {
  readonly name: PackageName;
  readonly ticket: number;
  readonly attempts: readonly AttemptRow[];
}

/**
 * Opens a look: takes the requests that wait for this package and draws the ticket. Everything the look reads is read
 * after this, so it may answer them (G10).
 */
export async function openLook(context: Context, looker: Looker, name: PackageName): Promise<OpenLook> {
  return context.database.read(async (queries) => {
    const attempts = await claimAttempts(queries, name.agentKey, name.environment, looker.id);
    return { name, attempts, ticket: await drawTicket(queries) };
  });
}

/** Gives the requests of a look that came to nothing back to whoever looks next. */
export async function abandonLook(context: Context, attempts: readonly AttemptRow[]): Promise<void> {
  await context.database.read((queries) => releaseAttempts(queries, idsOf(attempts)));
}

export interface FinishLook {
  readonly definition: PackageDefinition;
  readonly registryVersion: string;
  readonly registryChecksum: Sha256;
  readonly sourceType: SourceType;
  readonly look: PackageLook;
  readonly open: OpenLook;
  readonly trigger: LookTrigger;
  readonly looker: Looker;
  /** What the way of looking adds, such as `possibly_torn`. */
  readonly extraWarnings: readonly Finding[];
}

/**
 * Makes of a look what it comes to: a new version, or nothing and its reason; answers the requests it was opened with
 * and notes the source's status. Version, files, pointer, hold, events and answers are one transaction (G6); the
 * active version is touched only by a `LOADED` plan (K-022, K-077…K-082, K-089).
 */
export async function finishLook(context: Context, input: FinishLook): Promise<AttemptResult> {
  const judged = judgeLook(input.definition, input.look, context.policy.maxFileBytes);
  const withExtras = { ...judged, warnings: [...judged.warnings, ...input.extraWarnings] };
  if (withExtras.faults.length === 0 && (await isNew(context, input.open.name, judged))) {
    await insertBlobs(context.database, judged.bundle.files);
  }
  return context.database.transaction((queries) => publish(queries, context, input, withExtras));
}

/** Whether a bundle may turn out to need its blobs; asked without a lock, so the answer can only be a hint. */
async function isNew(context: Context, name: PackageName, judged: JudgedLook): Promise<boolean> {
  return context.database.read(async (queries) => {
    const row = await findPackage(queries, name.agentKey, name.environment);
    if (row === null) return false;
    const known = await readKnownPackage(queries, row);
    return [known.active, known.newest].every((version) => version?.checksum !== judged.bundle.checksum);
  });
}

async function publish(
  queries: Queries,
  context: Context,
  input: FinishLook,
  judged: JudgedLook,
): Promise<AttemptResult> {
  const row = await lockExisting(queries, input.open.name);
  const known = await readKnownPackage(queries, row);
  const policy = await capturePolicy(queries, context, input.open);
  const plan = planRefresh({
    definition: input.definition,
    judged,
    known,
    ticket: input.open.ticket,
    policy,
  });
  const result = toResult(plan);
  if (plan.outcome !== 'SUPERSEDED') await raiseTicket(queries, row, input.open.ticket);
  if (plan.outcome === 'LOADED') await load(queries, context, { input, row, plan });
  await settleStatus(queries, input, plan, result, judged);
  await finishAttempts(queries, idsOf(input.open.attempts), result);
  return result;
}

async function capturePolicy(queries: Queries, context: Context, open: OpenLook): Promise<CapturePolicy> {
  const { policy } = context;
  const { agentKey, environment } = open.name;
  const hourAgo = new Date(context.clock().getTime() - 3_600_000);
  return {
    activate: policy.activate(environment),
    shrinkHold: policy.shrinkHold,
    acceptShrink: open.attempts.some((attempt) => attempt.acceptShrink),
    maxVersionsPerHour: policy.maxVersionsPerHour,
    versionsInLastHour:
      policy.maxVersionsPerHour === 0 ? 0 : await countVersionsSince(queries, agentKey, environment, hourAgo),
  };
}

interface Load {
  readonly input: FinishLook;
  readonly row: PackageRow;
  readonly plan: Extract<RefreshPlan, { outcome: 'LOADED' }>;
}

async function load(queries: Queries, context: Context, { input, row, plan }: Load): Promise<void> {
  const actorId = input.open.attempts[0]?.actorId ?? input.looker.actorId;
  const reasonHash = plan.hold === null ? null : await keepRemark(queries, plan.hold.reason);
  await takeNumber(queries, row);
  await appendVersion(queries, {
    ...input.open.name,
    ...plan.bundle,
    number: plan.number,
    agentCode: input.definition.agentCode,
    stage: input.definition.stage,
    packageVersion: input.definition.packageVersion,
    registryVersion: input.registryVersion,
    registryChecksum: input.registryChecksum,
    sourceType: input.sourceType,
    ticket: input.open.ticket,
    promotedFrom: null,
    loadedBy: actorId,
    warnings: plan.warnings,
  });
  if (plan.activates) await movePointer(queries, row, plan.number);
  await appendEvent(queries, {
    actorId,
    action: 'agent.knowledge_loaded',
    ...input.open.name,
    subject: versionName(plan.number),
    details: loadedDetails({ input, row, plan }),
  });
  if (plan.hold !== null && reasonHash !== null) {
    await applyHold(queries, row, {
      cause: plan.hold.cause,
      actorId: input.looker.actorId,
      reasonHash,
      at: context.clock(),
    });
  }
}

function loadedDetails({ input, row, plan }: Load): Record<string, unknown> {
  return {
    version: versionName(plan.number),
    number: plan.number,
    checksum: plan.bundle.checksum,
    previousActive: row.activeNumber === null ? null : versionName(row.activeNumber),
    activated: plan.activates,
    held: row.hold !== null || plan.hold !== null,
    generation: row.generation + (plan.activates ? 1 : 0),
    ticket: input.open.ticket,
    trigger: input.trigger,
    registryChecksum: input.registryChecksum,
    warnings: plan.warnings.map((warning) => ({ code: warning.code, path: warning.relativePath })),
    skippedOptional: plan.skippedOptional,
  };
}

/** Notes how the source is, and audits what nobody's version shows: nothing new for those who asked, and failures. */
async function settleStatus(
  queries: Queries,
  input: FinishLook,
  plan: RefreshPlan,
  result: AttemptResult,
  judged: JudgedLook,
): Promise<void> {
  const { agentKey, environment } = input.open.name;
  if (plan.outcome === 'SUPERSEDED') return;
  const failed = plan.outcome === 'FAILED' || plan.outcome === 'VALIDATION_FAILED';
  const signature = failed ? failureSignature(input.look, judged) : null;
  const before = await reportLook(queries, agentKey, environment, {
    state: failed ? 'failed' : 'ok',
    outcome: plan.outcome,
    reason: failed ? result.reason : null,
    message: failed ? result.message : null,
    failureSignature: signature,
  });
  if (plan.outcome === 'UNCHANGED') {
    const details = { matchingVersion: versionName(plan.matchingNumber), checksum: plan.checksum };
    await auditForRequesters(queries, input, 'agent.knowledge_unchanged', details);
  } else if (failed) {
    const details = {
      reason: result.reason,
      findings: findingFacts(plan.faults),
      registryChecksum: input.registryChecksum,
    };
    const action = plan.outcome === 'FAILED' ? 'agent.knowledge_failed' : 'agent.knowledge_validation_failed';
    const asked = await auditForRequesters(queries, input, action, details);
    if (!asked && before !== signature) {
      await appendEvent(queries, { actorId: input.looker.actorId, action, ...input.open.name, details });
    }
  }
}

/** One event per actor who asked; false when nobody did. */
async function auditForRequesters(
  queries: Queries,
  input: FinishLook,
  action: EventAction,
  details: Record<string, unknown>,
): Promise<boolean> {
  const actors = new Set(input.open.attempts.map((attempt) => attempt.actorId));
  for (const actorId of actors) await appendEvent(queries, { actorId, action, ...input.open.name, details });
  return actors.size > 0;
}

/** Tells one failure from another, so that a fault that stays is audited once: reason, path, and what the file holds. */
function failureSignature(look: PackageLook, judged: JudgedLook): string {
  const first = judged.faults[0];
  const file =
    look.root === 'present'
      ? look.files.find((candidate) => candidate.relativePath === first?.relativePath)
      : undefined;
  return JSON.stringify([first?.code, first?.relativePath, file?.state === 'present' ? file.checksum : null]);
}

function toResult(plan: RefreshPlan): AttemptResult {
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
        message: plan.faults[0].message,
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

function idsOf(attempts: readonly AttemptRow[]): string[] {
  return attempts.map((attempt) => attempt.id);
}
