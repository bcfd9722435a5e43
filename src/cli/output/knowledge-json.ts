import { versionName } from '../../core/package.ts';
import { nameOf, newestNumber, pendingNumber } from '../version-names.ts';
import type { PackageView } from '../read-package-views.ts';
import type { FileRow, PackageRow, RefreshRow, SourceStatusRow, VersionRow } from '../rows.ts';
import { findingJson } from './findings.ts';

// Nouns as GraphQL spells them; the words of closed sets in lower case.

/** A version without its files. */
export function versionJson(version: VersionRow) {
  return {
    packageId: version.id,
    agentKey: version.agentKey,
    environment: version.environment,
    agentCode: version.agentCode,
    stage: version.stage,
    knowledgeVersion: versionName(version.number),
    packageVersion: version.packageVersion,
    registryVersion: version.registryVersion,
    checksum: version.checksum,
    fileCount: version.fileCount,
    totalSizeBytes: version.totalSizeBytes,
    sourceType: version.sourceType,
    status: version.isActive ? 'active' : 'superseded',
    isActive: version.isActive,
    loadedAt: version.loadedAt.toISOString(),
    loadedBy: version.loadedBy,
    sourceStale: version.sourceStale,
    generation: version.generation,
    warnings: version.warnings.map(findingJson),
  };
}

/** One line of a manifest. */
export function fileJson(file: Omit<FileRow, 'versionId'>) {
  const { relativePath, loadOrder, required, checksum, sizeBytes } = file;
  return { relativePath, loadOrder, required, checksum, sizeBytes };
}

/** A package with its versions of note. */
export function packageJson({ row, status, versions }: PackageView) {
  const version = (number: number | null) => {
    const found = versions.find((candidate) => candidate.number === number);
    return found ? versionJson(found) : null;
  };
  return {
    agentKey: row.agentKey,
    environment: row.environment,
    agentCode: row.agentCode,
    stage: row.stage,
    enabled: row.enabled,
    listed: row.listed,
    active: version(row.activeNumber),
    newest: version(newestNumber(row)),
    pending: version(pendingNumber(row)),
    hold: holdJson(row.hold),
    generation: row.generation,
    sourceStale: status?.stale ?? false,
    sourceStatus: status === undefined ? null : sourceStatusJson(status),
  };
}

/** The answer to a refresh. */
export function refreshJson(refresh: RefreshRow) {
  return {
    agentKey: refresh.agentKey,
    environment: refresh.environment,
    id: refresh.id,
    state: refresh.state.toLowerCase(),
    outcome: refresh.outcome?.toLowerCase() ?? null,
    knowledgeVersion: nameOf(refresh.loadedNumber),
    matchingVersion: nameOf(refresh.matchingNumber),
    reason: refresh.reason,
    message: refresh.message,
    faults: refresh.faults.map(findingJson),
    warnings: refresh.warnings.map(findingJson),
  };
}

function holdJson(hold: PackageRow['hold']) {
  if (hold === null) return null;
  const { cause, actorName, at, reason } = hold;
  return { actor: actorName, at: at.toISOString(), reason, cause: cause.toLowerCase() };
}

function sourceStatusJson(status: SourceStatusRow) {
  return {
    watched: status.watched,
    state: status.state,
    lastLookAt: status.lastLookAt?.toISOString() ?? null,
    lastSuccessAt: status.lastSuccessAt?.toISOString() ?? null,
    outcome: status.outcome?.toLowerCase() ?? null,
    reason: status.reason,
    message: status.message,
    faults: status.faults.map(findingJson),
    since: status.since?.toISOString() ?? null,
  };
}
