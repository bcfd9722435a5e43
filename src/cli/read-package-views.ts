import type { CallContext } from '../operations/context.ts';
import { readNamedVersions, readPackageOf, readStatuses } from '../operations/read-knowledge.ts';
import { newestNumber } from './version-names.ts';
import type { PackageName, PackageRow, SourceStatusRow, VersionRow } from './rows.ts';

/** A package with what is told beside it: how its source is, and its active and newest versions. */
export interface PackageView {
  readonly row: PackageRow;
  readonly status: SourceStatusRow | undefined;
  readonly versions: readonly VersionRow[];
}

/** Views of packages, with two statements for all of them. */
export async function readPackageViews(
  call: CallContext,
  rows: readonly PackageRow[],
): Promise<PackageView[]> {
  const statuses = await readStatuses(call, rows);
  const versions = await readNamedVersions(call, rows.flatMap(versionsOfNote));
  return rows.map((row) => ({
    row,
    status: statuses.find((status) => isAbout(row, status)),
    versions: versions.filter((version) => isAbout(row, version)),
  }));
}

/** The view of a package that an operation has answered for. */
export async function readPackageView(call: CallContext, name: PackageName): Promise<PackageView> {
  const row = await readPackageOf(call, name);
  const [view] = await readPackageViews(call, [row]);
  return view ?? { row, status: undefined, versions: [] };
}

function isAbout(row: PackageRow, other: PackageName): boolean {
  return other.agentKey === row.agentKey && other.environment === row.environment;
}

function versionsOfNote(row: PackageRow): (PackageName & { number: number })[] {
  const { agentKey, environment } = row;
  const numbers = new Set([row.activeNumber, newestNumber(row)]);
  return [...numbers].flatMap((number) => (number === null ? [] : { agentKey, environment, number }));
}
