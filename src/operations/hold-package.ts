import { KnowledgeError } from '../core/errors.ts';
import { reach } from '../core/failpoint.ts';
import type { NewEvent } from '../core/events.ts';
import type { Sha256 } from '../core/package.ts';
import { packageNotFound, requireScope } from '../core/permissions.ts';
import type { Queries } from '../store/database.ts';
import type { PackageName } from '../store/job-queue.ts';
import { appendEvent } from '../store/knowledge-events.ts';
import { readVersions } from '../store/package-versions.ts';
import { endHold, lockPackage, setHold, type HoldCause, type PackageRow } from '../store/packages.ts';
import { keepRemark } from '../store/remarks.ts';
import type { CallContext } from './context.ts';
import { once } from './idempotency.ts';
import { carryOutMove, planMove } from './move-pointer.ts';
import { resolvePackage } from './names.ts';

export interface HoldInput {
  readonly agentKey: string;
  readonly environment?: string | null | undefined;
  readonly reason: string;
  readonly idempotencyKey?: string | null | undefined;
}

/**
 * Holds a package: refreshes go on appending versions and no longer move its pointer. Holding a held package changes
 * its reason. Needs `ai.knowledge.rollback`; throws `NOT_FOUND`, `FORBIDDEN`.
 */
export async function holdPackage(context: CallContext, input: HoldInput): Promise<PackageName> {
  requireScope(context.caller, 'ai.knowledge.rollback');
  const name = resolvePackage(context, input.agentKey, input.environment);
  const reason = parseReason(input.reason);
  await once(context, { mutation: 'hold', input, subject: name }, async (queries) => {
    const row = await lockExisting(queries, name);
    if (row.hold?.cause !== 'OPERATOR' || row.hold.reason !== reason) {
      const reasonHash = await keepRemark(queries, reason);
      await applyHold(queries, row, {
        cause: 'OPERATOR',
        actorId: context.caller.actorId,
        reasonHash,
        at: context.clock(),
      });
    }
    return 'package';
  });
  return name;
}

export interface ReleaseInput {
  readonly agentKey: string;
  readonly environment?: string | null | undefined;
  readonly activateNewest?: boolean | null | undefined;
  readonly idempotencyKey?: string | null | undefined;
}

/**
 * Ends a hold and moves nothing, unless `activateNewest` asks for the newest version. Needs `ai.knowledge.rollback`;
 * throws `NOT_FOUND`, and `FORBIDDEN` also where a second person must activate.
 */
export async function releasePackage(context: CallContext, input: ReleaseInput): Promise<PackageName> {
  requireScope(context.caller, 'ai.knowledge.rollback');
  const name = resolvePackage(context, input.agentKey, input.environment);
  await once(context, { mutation: 'release', input, subject: name }, async (queries) => {
    const row = await lockExisting(queries, name);
    if (row.hold !== null) await applyRelease(queries, row, context.caller.actorId);
    if (input.activateNewest) await activateNewest(queries, row, context);
    return 'package';
  });
  return name;
}

export interface NewHold {
  readonly cause: HoldCause;
  readonly actorId: number;
  readonly reasonHash: Sha256;
  readonly at: Date;
}

/**
 * Puts a hold on a locked package, with its event. The remark must have been kept before the transaction's first event:
 * a remark that waits for another transaction while this one has the log's lock would be a deadlock.
 */
export async function applyHold(queries: Queries, locked: PackageRow, hold: NewHold): Promise<void> {
  await setHold(queries, locked, hold);
  await appendEvent(queries, heldEvent(locked, hold));
}

export function heldEvent(row: PackageRow, hold: NewHold): NewEvent {
  return {
    actorId: hold.actorId,
    action: 'agent.knowledge_held',
    agentKey: row.agentKey,
    environment: row.environment,
    details: { by: hold.cause, reasonHash: hold.reasonHash },
  };
}

/** Ends the hold of a locked package, with its event. */
export async function applyRelease(queries: Queries, locked: PackageRow, actorId: number): Promise<void> {
  await endHold(queries, locked);
  await appendEvent(queries, {
    actorId,
    action: 'agent.knowledge_released',
    agentKey: locked.agentKey,
    environment: locked.environment,
    details: { by: 'OPERATOR', reasonHash: null },
  });
}

/** Locks a package that must be there. */
export async function lockExisting(queries: Queries, name: PackageName): Promise<PackageRow> {
  reach('before lock');
  const row = await lockPackage(queries, name.agentKey, name.environment);
  reach('after lock');
  if (row === null) throw packageNotFound(name.agentKey, name.environment);
  return row;
}

/** A reason as it is kept: trimmed, 1 to 500 characters. */
export function parseReason(reason: string): string {
  const text = reason.trim();
  if (text.length > 0 && text.length <= 500) return text;
  throw new KnowledgeError('BAD_USER_INPUT', `reason must have 1 to 500 characters; found ${text.length}.`);
}

/** Under the rules of every activation, so that a release is no way round the second person. */
async function activateNewest(queries: Queries, row: PackageRow, context: CallContext): Promise<void> {
  const name = { agentKey: row.agentKey, environment: row.environment, number: row.nextNumber - 1 };
  const [target] = await readVersions(queries, [name], { staleAfterMs: 0 });
  if (!target) return; // No version yet: there is nothing to activate.
  const move = { row: { ...row, hold: null }, target };
  const plan = planMove(context, move, { expectedActive: null, hold: null });
  await carryOutMove(queries, move, plan, context.caller.actorId);
}
