import { v7 as uuidv7 } from 'uuid';
import { KnowledgeError } from '../core/errors.ts';
import { parseVersionName, versionName } from '../core/package.ts';
import { requireScope } from '../core/permissions.ts';
import type { Queries } from '../store/database.ts';
import type { PackageName } from '../store/job-queue.ts';
import { appendEvent } from '../store/knowledge-events.ts';
import {
  appendVersion,
  readFiles,
  readRegistryChecksum,
  readVersions,
  type VersionRow,
} from '../store/package-versions.ts';
import { movePointer, takeNumber, type PackageRow } from '../store/packages.ts';
import {
  findAttempts,
  finishAttempts,
  insertAttempt,
  type AttemptResult,
  type AttemptRow,
} from '../store/refreshes.ts';
import { keepRemark } from '../store/remarks.ts';
import { versionNotFound } from './activate-version.ts';
import type { CallContext } from './context.ts';
import { applyHold, lockExisting, parseReason } from './hold-package.ts';
import { once } from './idempotency.ts';
import { readKnownPackage } from './known-package.ts';
import { resolvePackage } from './names.ts';

export interface PromoteInput {
  readonly agentKey: string;
  readonly from: string;
  readonly to: string;
  readonly knowledgeVersion: string;
  readonly hold?: boolean | null | undefined;
  readonly reason?: string | null | undefined;
  readonly idempotencyKey?: string | null | undefined;
}

/**
 * Appends the content of one environment's version to another as that one's next number: what was tried is what goes
 * on. It is active at once unless the target is held or activates by hand; `hold` holds the target afterwards. Content
 * that is active or newest there already is `UNCHANGED` (K-063).
 *
 * Needs `ai.knowledge.refresh` on both, and `ai.knowledge.rollback` for `hold`. Throws `NOT_FOUND`, `FORBIDDEN`,
 * `BAD_USER_INPUT`, `CONFLICT`.
 */
export async function promoteVersion(context: CallContext, input: PromoteInput): Promise<AttemptRow> {
  requireScope(context.caller, 'ai.knowledge.refresh');
  if (typeof input.hold === 'boolean') requireScope(context.caller, 'ai.knowledge.rollback');
  const source = resolvePackage(context, input.agentKey, input.from);
  const target = resolvePackage(context, input.agentKey, input.to);
  if (source.environment === target.environment) {
    throw new KnowledgeError('BAD_USER_INPUT', `from and to must differ; both are ${source.environment}.`);
  }
  const reason =
    typeof input.reason === 'string'
      ? parseReason(input.reason)
      : `Held with the promotion of ${input.knowledgeVersion}.`;
  const id = await once(context, { mutation: 'promote', input, subject: target }, async (queries) => {
    const row = await lockExisting(queries, target);
    const version = await findVersion(queries, source, input.knowledgeVersion);
    const reasonHash = input.hold && row.hold === null ? await keepRemark(queries, reason) : null;
    const actorId = context.caller.actorId;
    const attempt = { ...target, id: `ref_${uuidv7()}`, actorId, acceptShrink: true };
    await insertAttempt(queries, attempt);
    const result = await append(queries, context, { row, version, holds: reasonHash !== null });
    await finishAttempts(queries, [attempt.id], result);
    if (reasonHash !== null) {
      await applyHold(queries, row, { cause: 'OPERATOR', actorId, reasonHash, at: context.clock() });
    }
    return attempt.id;
  });
  const [attempt] = await context.database.read((queries) => findAttempts(queries, [id]));
  if (attempt) return attempt;
  throw new KnowledgeError('NOT_FOUND', `The refresh ${id} is no longer kept.`);
}

async function findVersion(
  queries: Queries,
  source: PackageName,
  knowledgeVersion: string,
): Promise<VersionRow> {
  const number = parseVersionName(knowledgeVersion);
  const [version] =
    number === null ? [] : await readVersions(queries, [{ ...source, number }], { staleAfterMs: 0 });
  if (version) return version;
  throw versionNotFound(source, knowledgeVersion);
}

interface Promotion {
  readonly row: PackageRow;
  readonly version: VersionRow;
  /** Whether the target is held when this is done, and was not before. */
  readonly holds: boolean;
}

async function append(queries: Queries, context: CallContext, promotion: Promotion): Promise<AttemptResult> {
  const { row, version } = promotion;
  const known = await readKnownPackage(queries, row);
  const matching = [known.active, known.newest].find((candidate) => candidate?.checksum === version.checksum);
  const nothing = { faults: [], warnings: version.warnings, matchingNumber: null, loadedNumber: null };
  const actorId = context.caller.actorId;
  if (matching) {
    const name = { agentKey: row.agentKey, environment: row.environment };
    const details = { matchingVersion: versionName(matching.number), checksum: version.checksum };
    await appendEvent(queries, { actorId, action: 'agent.knowledge_unchanged', ...name, details });
    const message = `${row.environment} holds this content as ${versionName(matching.number)}; nothing was changed.`;
    return {
      ...nothing,
      outcome: 'UNCHANGED',
      reason: 'same_checksum',
      message,
      matchingNumber: matching.number,
    };
  }
  const activates = row.hold === null && context.policy.activate(row.environment) === 'auto';
  await appendPromoted(queries, promotion, { actorId, activates });
  const message = activates
    ? `${versionName(row.nextNumber)} is active in ${row.environment}.`
    : `${versionName(row.nextNumber)} was stored in ${row.environment} and waits to be activated.`;
  return { ...nothing, outcome: 'LOADED', reason: null, message, loadedNumber: row.nextNumber };
}

async function appendPromoted(
  queries: Queries,
  { row, version, holds }: Promotion,
  { actorId, activates }: { actorId: number; activates: boolean },
): Promise<void> {
  const number = row.nextNumber;
  const registryChecksum = await readRegistryChecksum(queries, version.id);
  await takeNumber(queries, row);
  await appendVersion(queries, {
    ...version,
    environment: row.environment,
    number,
    registryChecksum,
    ticket: null,
    promotedFrom: version.id,
    loadedBy: actorId,
    files: await readFiles(queries, [version.id]),
  });
  if (activates) await movePointer(queries, row, number);
  await appendEvent(queries, {
    actorId,
    action: 'agent.knowledge_loaded',
    agentKey: row.agentKey,
    environment: row.environment,
    subject: versionName(number),
    details: {
      version: versionName(number),
      number,
      checksum: version.checksum,
      previousActive: row.activeNumber === null ? null : versionName(row.activeNumber),
      activated: activates,
      held: row.hold !== null || holds,
      generation: row.generation + (activates ? 1 : 0),
      ticket: null,
      trigger: 'promote',
      promotedFrom: { environment: version.environment, version: versionName(version.number) },
      registryChecksum,
      warnings: version.warnings.map((warning) => ({ code: warning.code, path: warning.relativePath })),
      skippedOptional: [],
    },
  });
}
