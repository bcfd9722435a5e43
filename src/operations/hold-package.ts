import { KnowledgeError } from '../core/errors.ts';
import { packageNotFound, requireScope } from '../core/permissions.ts';
import { versionName, type Sha256 } from '../core/package.ts';
import type { Queries } from '../store/database.ts';
import type { PackageName } from '../store/job-queue.ts';
import { appendEvent } from '../store/knowledge-events.ts';
import {
  endHold,
  lockPackage,
  movePointer,
  setHold,
  type HoldCause,
  type PackageRow,
} from '../store/packages.ts';
import { keepRemark } from '../store/remarks.ts';
import type { CallContext } from './context.ts';
import { once } from './idempotency.ts';
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
  await once(context, 'hold', input, async (queries) => {
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
 * throws `NOT_FOUND`, `FORBIDDEN`.
 */
export async function releasePackage(context: CallContext, input: ReleaseInput): Promise<PackageName> {
  requireScope(context.caller, 'ai.knowledge.rollback');
  const name = resolvePackage(context, input.agentKey, input.environment);
  await once(context, 'release', input, async (queries) => {
    const row = await lockExisting(queries, name);
    if (row.hold !== null) await applyRelease(queries, row, context.caller.actorId);
    if (input.activateNewest) await activateNewest(queries, row, context);
    return 'package';
  });
  return name;
}

/**
 * Puts a hold on a locked package, with its event. The remark must have been kept before the transaction's first event:
 * a remark that waits for another transaction while this one has the log's lock would be a deadlock.
 */
export async function applyHold(
  queries: Queries,
  locked: PackageRow,
  hold: {
    readonly cause: HoldCause;
    readonly actorId: number;
    readonly reasonHash: Sha256;
    readonly at: Date;
  },
): Promise<void> {
  await setHold(queries, locked, hold);
  await appendEvent(queries, {
    actorId: hold.actorId,
    action: 'agent.knowledge_held',
    agentKey: locked.agentKey,
    environment: locked.environment,
    details: { by: hold.cause, reasonHash: hold.reasonHash },
  });
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
  const row = await lockPackage(queries, name.agentKey, name.environment);
  if (row === null) throw packageNotFound(name.agentKey, name.environment);
  return row;
}

/** A reason as it is kept: trimmed, 1 to 500 characters. */
export function parseReason(reason: string): string {
  const text = reason.trim();
  if (text.length > 0 && text.length <= 500) return text;
  throw new KnowledgeError('BAD_USER_INPUT', `reason must have 1 to 500 characters; found ${text.length}.`);
}

async function activateNewest(queries: Queries, row: PackageRow, context: CallContext): Promise<void> {
  const newest = row.nextNumber - 1;
  if (newest < 1 || newest === row.activeNumber) return;
  await movePointer(queries, row, newest);
  await appendEvent(queries, {
    actorId: context.caller.actorId,
    action: 'agent.knowledge_rollback',
    agentKey: row.agentKey,
    environment: row.environment,
    subject: versionName(newest),
    details: {
      from: row.activeNumber === null ? null : versionName(row.activeNumber),
      to: versionName(newest),
      direction: 'forward',
      held: false,
      generation: row.generation + 1,
    },
  });
}
