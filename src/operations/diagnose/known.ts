import type { Registry } from '../../core/package.ts';
import { parseRegistry } from '../../core/registry/registry.ts';
import { listLiveDaemons, type LiveDaemon } from '../../store/daemons.ts';
import type { Database, Queries } from '../../store/database.ts';
import { listDriveStandings, type DriveStanding } from '../../store/drive-standing.ts';
import { readNoticeTotals, type NoticeTotals } from '../../store/notice-list.ts';
import {
  listSilentDaemons,
  listWaitingPackages,
  type SilentDaemon,
  type WaitingPackage,
} from '../../store/neglected.ts';
import { listPackages, type PackageRow } from '../../store/packages.ts';
import {
  readRegistrySnapshot,
  readRegistryState,
  type RegistryStateRow,
} from '../../store/registry-snapshots.ts';
import { readSourceStatus, type SourceStatusRow } from '../../store/source-status.ts';
import { staleAfterMs, type Policy } from '../context.ts';

/** A request that has been open for longer than this is waiting for somebody who does not come. */
export const patienceSeconds = 60;

/** What the database knows about everything else that is checked. */
export interface Known {
  readonly registryState: RegistryStateRow;
  /** Null before the first valid one, and where it no longer passes the rules. */
  readonly registry: Registry | null;
  readonly daemons: readonly LiveDaemon[];
  readonly silent: readonly SilentDaemon[];
  readonly packages: readonly { readonly row: PackageRow; readonly status: SourceStatusRow | undefined }[];
  readonly waiting: readonly WaitingPackage[];
  readonly notices: NoticeTotals;
  readonly drives: readonly DriveStanding[];
}

/** Reads all of it, changing nothing. */
export async function readKnown(database: Database, policy: Policy): Promise<Known> {
  return database.read(async (queries) => {
    const registryState = await readRegistryState(queries);
    return {
      registryState,
      registry: await readInForce(queries, registryState),
      daemons: await listLiveDaemons(queries),
      silent: await listSilentDaemons(queries),
      packages: await readPackages(queries, policy),
      waiting: await listWaitingPackages(queries, patienceSeconds),
      notices: await readNoticeTotals(queries),
      drives: await listDriveStandings(queries),
    };
  });
}

async function readInForce(queries: Queries, { checksum }: RegistryStateRow): Promise<Registry | null> {
  if (checksum === null) return null;
  const parsed = parseRegistry(await readRegistrySnapshot(queries, checksum));
  return parsed.ok ? parsed.registry : null;
}

async function readPackages(queries: Queries, policy: Policy): Promise<Known['packages']> {
  const packages = [];
  for (const environment of policy.environments) {
    const rows = await listPackages(queries, environment);
    const statuses = await readSourceStatus(queries, rows, staleAfterMs(policy));
    const byAgent = new Map(statuses.map((status) => [status.agentKey, status]));
    packages.push(...rows.map((row) => ({ row, status: byAgent.get(row.agentKey) })));
  }
  return packages;
}
