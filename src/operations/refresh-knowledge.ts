import type { NewEvent } from '../core/events.ts';
import { reach } from '../core/failpoint.ts';
import { faultsMessage, type Finding } from '../core/finding.ts';
import type { PackageLook } from '../core/look.ts';
import type { PackageDefinition, Sha256, SourceType } from '../core/package.ts';
import type { CapturePolicy } from '../core/plan-capture.ts';
import { judgeLook, planRefresh, type JudgedLook, type RefreshPlan } from '../core/plan-refresh.ts';
import { insertBlobs } from '../store/blobs.ts';
import type { Queries } from '../store/database.ts';
import type { PackageName } from '../store/job-queue.ts';
import { appendEvent, readLastAction } from '../store/knowledge-events.ts';
import { drawTicket } from '../store/looks.ts';
import { appendVersion, countVersionsSince, listChecksums } from '../store/package-versions.ts';
import { movePointer, raiseTicket, setHold, takeNumber, type PackageRow } from '../store/packages.ts';
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
import { heldEvent, lockExisting } from './hold-package.ts';
import { readKnownPackage } from './known-package.ts';
import { subjectOf } from './names.ts';
import { emptyLookEvent, failureSignature, loadedEvent, type LookFacts } from './refresh-events.ts';
import { toResult } from './refresh-result.ts';
import { requireRoom } from './require-room.ts';

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
  const opened = await context.database.transaction(async (queries) => {
    const attempts = await claimAttempts(queries, name.agentKey, name.environment, looker.id);
    return { name, attempts, ticket: await drawTicket(queries) };
  });
  reach('after ticket');
  return opened;
}

/** Gives the requests of a look that came to nothing back to whoever looks next; `trouble` tells those who wait why. */
export async function abandonLook(
  context: Context,
  attempts: readonly AttemptRow[],
  trouble: string | null = null,
): Promise<void> {
  await context.database.read((queries) => releaseAttempts(queries, idsOf(attempts), trouble));
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
  /** The version before, where another of its files changed so soon after it that it may lack half of one change. */
  readonly possiblyTorn?: number | null;
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
    await requireRoom(context);
    await insertBlobs(context.database, judged.bundle.files);
    reach('after blobs');
  }
  const result = await context.database.transaction(
    (queries) => publish(queries, context, input, withExtras),
    subjectOf(input.open.name),
  );
  reach('after commit');
  return result;
}

/** Whether a bundle may turn out to need its blobs; asked without a lock, so the answer can only be a hint. */
async function isNew(context: Context, name: PackageName, { bundle }: JudgedLook): Promise<boolean> {
  const [known] = await context.database.read((queries) => listChecksums(queries, name));
  return known?.active !== bundle.checksum && known?.newest !== bundle.checksum;
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
  const { ticket, attempts } = input.open;
  const plan = planRefresh({ definition: input.definition, judged, known, ticket, policy });
  const result = toResult(plan);
  const events =
    plan.outcome === 'SUPERSEDED' ? [] : await carryOut(queries, context, { input, row, plan, judged });
  await finishAttempts(queries, idsOf(attempts), result);
  // Everything else is written by now: whoever has the log's lock waits for nobody (G13).
  for (const event of events) await appendEvent(queries, event);
  reach('before commit');
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

interface Conclusion<Plan = Exclude<RefreshPlan, { outcome: 'SUPERSEDED' }>> {
  readonly input: FinishLook;
  readonly row: PackageRow;
  readonly plan: Plan;
  readonly judged: JudgedLook;
}

/** Writes what a look came to; answers the events that are left to be written. */
async function carryOut(queries: Queries, context: Context, found: Conclusion): Promise<readonly NewEvent[]> {
  const { input, row, plan, judged } = found;
  const { agentKey, environment } = input.open.name;
  await raiseTicket(queries, row, input.open.ticket);
  const loaded = plan.outcome === 'LOADED' ? await load(queries, context, { ...found, plan }) : [];
  const refused = plan.outcome === 'LOADED' || plan.outcome === 'UNCHANGED' ? null : plan;
  const signature = failureSignature(input.look, judged);
  const signatureBefore = await reportLook(queries, agentKey, environment, {
    state: refused === null ? 'ok' : 'failed',
    outcome: plan.outcome,
    reason: refused?.faults[0].code ?? null,
    message: refused && faultsMessage(refused.faults, refused.warnings),
    faults: refused?.faults ?? [],
    failureSignature: signature,
  });
  if (plan.outcome === 'LOADED') return loaded;
  const event = emptyLookEvent(factsOf(input), plan);
  const askers = [...new Set(input.open.attempts.map((attempt) => attempt.actorId))];
  if (askers.length > 0) return askers.map((actorId) => ({ actorId, ...event }));
  // Nobody asked: unchanged is no news, and neither is the failure that the package's last event tells already.
  const told =
    signature === signatureBefore && (await readLastAction(queries, agentKey, environment)) === event.action;
  return plan.outcome === 'UNCHANGED' || told ? [] : [{ actorId: input.looker.actorId, ...event }];
}

async function load(
  queries: Queries,
  context: Context,
  { input, row, plan }: Conclusion<Extract<RefreshPlan, { outcome: 'LOADED' }>>,
): Promise<readonly NewEvent[]> {
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
  const loaded = loadedEvent({ ...factsOf(input), actorId }, row, plan);
  if (plan.hold === null || reasonHash === null) return [loaded];
  const hold = { cause: plan.hold.cause, actorId: input.looker.actorId, reasonHash, at: context.clock() };
  await setHold(queries, row, hold);
  return [loaded, heldEvent(row, hold)];
}

function factsOf(input: FinishLook): LookFacts {
  const { name, ticket } = input.open;
  const { trigger, registryChecksum, possiblyTorn = null } = input;
  return { name, ticket, trigger, registryChecksum, possiblyTorn };
}

function idsOf(attempts: readonly AttemptRow[]): string[] {
  return attempts.map((attempt) => attempt.id);
}
