import { sql } from 'kysely';
import { reach } from '../core/failpoint.ts';
import type { Finding } from '../core/finding.ts';
import type { RelativePath, Sha256, SourceType } from '../core/package.ts';
import type { Queries } from './database.ts';

/**
 * A version as it was stored, with what its package says of it now: whether it is the active one, the package's
 * generation and staleness. All of it comes from one statement, so that it belongs together.
 */
export interface VersionRow {
  /** K-052: the row's id, growing, with gaps. */
  readonly id: number;
  readonly agentKey: string;
  readonly environment: string;
  readonly number: number;
  readonly checksum: Sha256;
  readonly agentCode: string;
  readonly stage: string;
  readonly packageVersion: string;
  readonly registryVersion: string;
  readonly fileCount: number;
  readonly totalSizeBytes: number;
  readonly sourceType: SourceType;
  readonly loadedAt: Date;
  readonly loadedById: number;
  readonly loadedBy: string | null;
  readonly warnings: readonly Finding[];
  readonly isActive: boolean;
  readonly generation: number;
  /** Only ever true of the active version (K-071: staleness lives beside the version, not in it). */
  readonly sourceStale: boolean;
}

export interface FileRow {
  readonly versionId: number;
  readonly relativePath: RelativePath;
  readonly loadOrder: number;
  readonly required: boolean;
  readonly checksum: Sha256;
  readonly sizeBytes: number;
}

export interface NewVersion {
  readonly agentKey: string;
  readonly environment: string;
  readonly number: number;
  readonly checksum: Sha256;
  readonly agentCode: string;
  readonly stage: string;
  readonly packageVersion: string;
  readonly registryVersion: string;
  readonly registryChecksum: Sha256;
  readonly totalSizeBytes: number;
  readonly sourceType: SourceType;
  /** The look it came from; null for a promoted version. */
  readonly ticket: number | null;
  /** The version it was promoted from; null for one that was looked up. */
  readonly promotedFrom: number | null;
  readonly loadedBy: number;
  readonly warnings: readonly Finding[];
  readonly files: readonly Omit<FileRow, 'versionId'>[];
}

/**
 * Appends a version and its files, whose blobs must be stored already. The number must be the one that
 * `takeNumber` has just given out; the database refuses any other, and at commit a version whose files do not give
 * its checksum (G1, G3). The files go in one statement, which is what the database checks.
 */
export async function appendVersion(queries: Queries, version: NewVersion): Promise<number> {
  const { id } = await queries
    .insertInto('package_version')
    .values({
      agent_key: version.agentKey,
      environment: version.environment,
      number: version.number,
      checksum: version.checksum,
      agent_code: version.agentCode,
      stage: version.stage,
      package_version: version.packageVersion,
      registry_version: version.registryVersion,
      registry_checksum: version.registryChecksum,
      file_count: version.files.length,
      total_size_bytes: version.totalSizeBytes,
      source_type: version.sourceType,
      ticket: version.ticket,
      promoted_from: version.promotedFrom,
      loaded_by: version.loadedBy,
      warnings: JSON.stringify(version.warnings) as never,
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  reach('after version');
  await queries
    .insertInto('version_file')
    .values(
      version.files.map((file) => ({
        version_id: id,
        load_order: file.loadOrder,
        relative_path: file.relativePath,
        required: file.required,
        checksum: file.checksum,
        size_bytes: file.sizeBytes,
      })),
    )
    .execute();
  reach('after files');
  return id;
}

/** Which versions: by name, by numbers, by id or by checksum; every condition given must hold. */
export interface VersionFilter {
  readonly agentKey?: string;
  readonly environment?: string;
  readonly number?: number;
  readonly active?: true;
  readonly checksum?: string;
  readonly before?: number | null;
}

/** Versions, newest first within a package. `staleAfterMs`: how old a watched package's last success may be. */
export async function listVersions(
  queries: Queries,
  filter: VersionFilter,
  options: { readonly limit?: number; readonly staleAfterMs: number },
): Promise<VersionRow[]> {
  let query = selectVersions(queries, options.staleAfterMs);
  if (filter.agentKey !== undefined) query = query.where('v.agent_key', '=', filter.agentKey);
  if (filter.environment !== undefined) query = query.where('v.environment', '=', filter.environment);
  if (filter.number !== undefined) query = query.where('v.number', '=', filter.number);
  if (filter.active) query = query.whereRef('v.number', '=', 'p.active_number');
  if (filter.checksum !== undefined) query = query.where('v.checksum', '=', filter.checksum);
  if (typeof filter.before === 'number') query = query.where('v.number', '<', filter.before);
  query = query.orderBy('v.agent_key').orderBy('v.environment').orderBy('v.number', 'desc');
  if (options.limit !== undefined) query = query.limit(options.limit);
  return (await query.execute()).map(toVersionRow);
}

/** The named versions of any packages in one statement, in no particular order. */
export async function readVersions(
  queries: Queries,
  names: readonly { readonly agentKey: string; readonly environment: string; readonly number: number }[],
  options: { readonly staleAfterMs: number },
): Promise<VersionRow[]> {
  if (names.length === 0) return [];
  const rows = await selectVersions(queries, options.staleAfterMs)
    .where((where) =>
      where(
        where.refTuple('v.agent_key', 'v.environment', 'v.number'),
        'in',
        names.map((name) => where.tuple(name.agentKey, name.environment, name.number)) as never,
      ),
    )
    .execute();
  return rows.map(toVersionRow);
}

/** How many versions a package has got since `since`, for the hourly limit. */
export async function countVersionsSince(
  queries: Queries,
  agentKey: string,
  environment: string,
  since: Date,
): Promise<number> {
  const row = await queries
    .selectFrom('package_version')
    .select((select) => select.fn.countAll<number>().as('count'))
    .where('agent_key', '=', agentKey)
    .where('environment', '=', environment)
    .where('loaded_at', '>', since)
    .executeTakeFirstOrThrow();
  return row.count;
}

/** The manifests of several versions in one statement, each in load order (K-032, K-035). */
export async function readFiles(queries: Queries, versionIds: readonly number[]): Promise<FileRow[]> {
  if (versionIds.length === 0) return [];
  const rows = await queries
    .selectFrom('version_file')
    .selectAll()
    .where('version_id', 'in', versionIds)
    .orderBy('version_id')
    .orderBy('load_order')
    .execute();
  return rows.map((row) => ({
    versionId: row.version_id,
    relativePath: row.relative_path as RelativePath,
    loadOrder: row.load_order,
    required: row.required,
    checksum: row.checksum as Sha256,
    sizeBytes: row.size_bytes,
  }));
}

/** The registry in force when a version was loaded. */
export async function readRegistryChecksum(queries: Queries, versionId: number): Promise<Sha256> {
  const row = await queries
    .selectFrom('package_version')
    .select('registry_checksum')
    .where('id', '=', versionId)
    .executeTakeFirstOrThrow();
  return row.registry_checksum as Sha256;
}

/**
 * Whether a package's source is stale: its root is missing, its last look failed, the registry is rejected, or nobody has looked with
 * success for too long at a package that somebody should be watching (`interface.md` 6, G-09).
 */
export function sourceIsStale(staleAfterMs: number) {
  return sql<boolean>`(coalesce(s.state = 'missing', false)
    or coalesce(s.outcome in ('FAILED', 'VALIDATION_FAILED'), false)
    or r.rejected_checksum is not null
    or (coalesce(s.watched, false) and p.enabled
      and coalesce(s.last_success_at, '-infinity') < clock_timestamp() - make_interval(secs => ${staleAfterMs / 1000})))`;
}

function selectVersions(queries: Queries, staleAfterMs: number) {
  return queries
    .selectFrom('package_version as v')
    .innerJoin('package as p', (join) =>
      join.onRef('p.agent_key', '=', 'v.agent_key').onRef('p.environment', '=', 'v.environment'),
    )
    .leftJoin('source_status as s', (join) =>
      join.onRef('s.agent_key', '=', 'v.agent_key').onRef('s.environment', '=', 'v.environment'),
    )
    .innerJoin('registry_state as r', (join) => join.on('r.id', '=', true))
    .leftJoin('actor_name as a', 'a.actor_id', 'v.loaded_by')
    .selectAll('v')
    .select(['p.active_number', 'p.generation', 'a.name as loaded_by_name'])
    .select(sourceIsStale(staleAfterMs).as('package_stale'));
}

type SelectedVersion = Awaited<ReturnType<ReturnType<typeof selectVersions>['execute']>>[number];

function toVersionRow(row: SelectedVersion): VersionRow {
  const isActive = row.number === row.active_number;
  return {
    id: row.id,
    agentKey: row.agent_key,
    environment: row.environment,
    number: row.number,
    checksum: row.checksum as Sha256,
    agentCode: row.agent_code,
    stage: row.stage,
    packageVersion: row.package_version,
    registryVersion: row.registry_version,
    fileCount: row.file_count,
    totalSizeBytes: row.total_size_bytes,
    sourceType: row.source_type as SourceType,
    loadedAt: row.loaded_at,
    loadedById: row.loaded_by,
    loadedBy: row.loaded_by_name,
    warnings: row.warnings,
    isActive,
    generation: row.generation,
    sourceStale: isActive && row.package_stale,
  };
}

/** The bundle checksums that make a look `UNCHANGED`. */
export interface KnownChecksums {
  readonly agentKey: string;
  readonly environment: string;
  readonly active: Sha256 | null;
  readonly newest: Sha256 | null;
}

/** The active and newest checksum of every package that has versions, or of the one named. */
export async function listChecksums(
  queries: Queries,
  name?: { readonly agentKey: string; readonly environment: string },
): Promise<KnownChecksums[]> {
  let query = queries
    .selectFrom('package as p')
    .innerJoin('package_version as newest', (join) =>
      join
        .onRef('newest.agent_key', '=', 'p.agent_key')
        .onRef('newest.environment', '=', 'p.environment')
        .on('newest.number', '=', sql<number>`p.next_number - 1`),
    )
    .leftJoin('package_version as active', (join) =>
      join
        .onRef('active.agent_key', '=', 'p.agent_key')
        .onRef('active.environment', '=', 'p.environment')
        .onRef('active.number', '=', 'p.active_number'),
    )
    .select(['p.agent_key', 'p.environment', 'newest.checksum as newest', 'active.checksum as active']);
  if (name)
    query = query.where('p.agent_key', '=', name.agentKey).where('p.environment', '=', name.environment);
  return (await query.execute()).map((row) => ({
    agentKey: row.agent_key,
    environment: row.environment,
    active: row.active as Sha256 | null,
    newest: row.newest as Sha256,
  }));
}
