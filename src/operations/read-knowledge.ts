import { KnowledgeError } from '../core/errors.ts';
import { parsePageRequest, toPage, type Page, type PageRequest } from '../core/page.ts';
import { parseVersionName, versionName, type Sha256 } from '../core/package.ts';
import { canSee, packageNotFound, requireScope } from '../core/permissions.ts';
import { readBlobs } from '../store/blobs.ts';
import type { PackageName } from '../store/job-queue.ts';
import {
  listVersions,
  readFiles,
  readVersions,
  type FileRow,
  type VersionRow,
} from '../store/package-versions.ts';
import { findPackage, listPackages, type PackageRow } from '../store/packages.ts';
import { readSourceStatus, type SourceStatusRow } from '../store/source-status.ts';
import { versionNotFound } from './activate-version.ts';
import { staleAfterMs, type CallContext } from './context.ts';
import { resolveEnvironment, resolvePackage } from './names.ts';

/** Every package of an environment that the caller may see. Needs `knowledge:read`. */
export async function readPackages(context: CallContext, environment?: string | null): Promise<PackageRow[]> {
  requireScope(context.caller, 'knowledge:read');
  const { environments } = context.caller;
  const asked = environment ?? context.policy.defaultEnvironment;
  if (environments !== null && !environments.has(asked)) return [];
  const name = resolveEnvironment(context.policy, asked);
  const rows = await context.database.read((queries) => listPackages(queries, name));
  return rows.filter((row) => canSee(context.caller, row.agentKey, row.environment));
}

/** One package. Needs `knowledge:read`; throws `NOT_FOUND`. */
export async function readPackage(
  context: CallContext,
  agentKey: string,
  environment?: string | null,
): Promise<PackageRow> {
  requireScope(context.caller, 'knowledge:read');
  return readPackageOf(context, resolvePackage(context, agentKey, environment));
}

/** The package that an operation has just answered for. */
export async function readPackageOf(context: CallContext, name: PackageName): Promise<PackageRow> {
  const row = await context.database.read((queries) => findPackage(queries, name.agentKey, name.environment));
  if (row === null) throw packageNotFound(name.agentKey, name.environment);
  return row;
}

/**
 * The active version: what a runtime gives its agent (K-034, K-037). Throws `NOT_FOUND` where there is none, which
 * means: do not run the agent; `CONFLICT` where the caller has seen a newer generation than this database has.
 */
export async function readActiveVersion(
  context: CallContext,
  input: {
    readonly agentKey: string;
    readonly environment?: string | null;
    readonly minGeneration?: number | null;
  },
): Promise<VersionRow> {
  requireScope(context.caller, 'knowledge:read');
  const name = resolvePackage(context, input.agentKey, input.environment);
  const [version] = await context.database.read((queries) =>
    listVersions(queries, { ...name, active: true }, { staleAfterMs: staleAfterMs(context.policy) }),
  );
  const { generation } = version ?? (await readPackageOf(context, name));
  if (typeof input.minGeneration === 'number' && generation < input.minGeneration) {
    throw new KnowledgeError(
      'CONFLICT',
      `Generation ${input.minGeneration} was expected; this database has ${generation}. It may have been restored from a backup.`,
      { details: { current: version ? versionName(version.number) : null, generation } },
    );
  }
  if (version) return version;
  throw new KnowledgeError(
    'NOT_FOUND',
    `${name.agentKey} has no active version in ${name.environment}; do not run the agent.`,
  );
}

/** One exact version, superseded ones included (K-045…K-048). Throws `NOT_FOUND`. */
export async function readVersion(
  context: CallContext,
  input: {
    readonly agentKey: string;
    readonly environment?: string | null;
    readonly knowledgeVersion: string;
  },
): Promise<VersionRow> {
  requireScope(context.caller, 'knowledge:read');
  const name = resolvePackage(context, input.agentKey, input.environment);
  const number = parseVersionName(input.knowledgeVersion);
  const [version] = number === null ? [] : await readNamedVersions(context, [{ ...name, number }]);
  if (version) return version;
  await readPackageOf(context, name);
  throw versionNotFound(name, input.knowledgeVersion);
}

/** What the list of a package's versions is called in its cursors. */
export function historyList(name: PackageName): string {
  return `versions ${name.agentKey} ${name.environment}`;
}

/** A page of a package's history, newest first (K-042). Needs `knowledge:read`; throws `NOT_FOUND` where it is foreign. */
export async function readHistory(
  context: CallContext,
  name: PackageName,
  request: PageRequest,
): Promise<Page<VersionRow>> {
  assertReadable(context, name);
  const list = historyList(name);
  const { size, before } = parsePageRequest(request, list);
  const rows = await context.database.read((queries) =>
    listVersions(
      queries,
      { ...name, before },
      { limit: size + 1, staleAfterMs: staleAfterMs(context.policy) },
    ),
  );
  return toPage(rows, { size, before }, { name: list, positionOf: (row) => row.number });
}

function assertReadable(context: CallContext, name: PackageName): void {
  requireScope(context.caller, 'knowledge:read');
  if (!canSee(context.caller, name.agentKey, name.environment))
    throw packageNotFound(name.agentKey, name.environment);
}

/** Every version with this bundle checksum that the caller may see, across environments (K-083). */
export async function readVersionsByChecksum(context: CallContext, checksum: string): Promise<VersionRow[]> {
  requireScope(context.caller, 'knowledge:read');
  if (!/^[0-9a-f]{64}$/.test(checksum)) {
    throw new KnowledgeError('BAD_USER_INPUT', 'checksum must be 64 lowercase hex digits.');
  }
  const rows = await context.database.read((queries) =>
    listVersions(queries, { checksum }, { limit: 1000, staleAfterMs: staleAfterMs(context.policy) }),
  );
  return rows.filter((row) => canSee(context.caller, row.agentKey, row.environment));
}

// What follows is asked for many things at once, by the doors' loaders, of rows the caller has been given already.

/** Versions by name; what does not exist is left out. */
export async function readNamedVersions(
  context: CallContext,
  names: readonly (PackageName & { readonly number: number })[],
): Promise<VersionRow[]> {
  return context.database.read((queries) =>
    readVersions(queries, names, { staleAfterMs: staleAfterMs(context.policy) }),
  );
}

export async function readManifests(context: CallContext, versionIds: readonly number[]): Promise<FileRow[]> {
  return context.database.read((queries) => readFiles(queries, versionIds));
}

/** Exact bytes by checksum. Needs `knowledge:read`. */
export async function readContents(
  context: CallContext,
  checksums: readonly Sha256[],
): Promise<ReadonlyMap<Sha256, Uint8Array>> {
  requireScope(context.caller, 'knowledge:read');
  return context.database.read((queries) => readBlobs(queries, checksums));
}

export async function readStatuses(
  context: CallContext,
  names: readonly PackageName[],
): Promise<SourceStatusRow[]> {
  return context.database.read((queries) => readSourceStatus(queries, names, staleAfterMs(context.policy)));
}
