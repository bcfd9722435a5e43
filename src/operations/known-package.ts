import type { KnownPackage, KnownVersion } from '../core/plan-capture.ts';
import type { Queries } from '../store/database.ts';
import { readFiles, readVersions } from '../store/package-versions.ts';
import type { PackageRow } from '../store/packages.ts';

/** What a decision about a package must know of it: the row, and its active and newest versions with their manifests. */
export async function readKnownPackage(queries: Queries, row: PackageRow): Promise<KnownPackage> {
  const newestNumber = row.nextNumber - 1;
  const numbers = [...new Set([row.activeNumber, newestNumber])].filter(
    (n): n is number => n !== null && n > 0,
  );
  const names = numbers.map((number) => ({ agentKey: row.agentKey, environment: row.environment, number }));
  const versions = await readVersions(queries, names, { staleAfterMs: 0 });
  const files = await readFiles(
    queries,
    versions.map((version) => version.id),
  );
  const known = (number: number | null): KnownVersion | null => {
    const version = versions.find((candidate) => candidate.number === number);
    return version
      ? {
          number: version.number,
          checksum: version.checksum,
          files: files.filter((f) => f.versionId === version.id),
        }
      : null;
  };
  return {
    nextNumber: row.nextNumber,
    lastTicket: row.lastTicket,
    held: row.hold !== null,
    active: known(row.activeNumber),
    newest: known(newestNumber),
  };
}
