import { sql } from 'kysely';
import type { Finding } from '../core/finding.ts';
import type { Sha256 } from '../core/package.ts';
import type { Queries } from './database.ts';

/** Which registry is in force, and what is wrong with the one that was last offered. */
export interface RegistryStateRow {
  /** Null until the first valid registry has been seen. */
  readonly checksum: Sha256 | null;
  /** The checksum of the offered registry that was refused, `missing` for an absent one; null when nothing is refused. */
  readonly rejectedChecksum: string | null;
  readonly faults: readonly Finding[];
  readonly warnings: readonly Finding[];
}

/** Locks the registry's one row for the transaction. */
export async function lockRegistryState(queries: Queries): Promise<RegistryStateRow> {
  return toState(
    await queries.selectFrom('registry_state').selectAll().forUpdate().executeTakeFirstOrThrow(),
  );
}

export async function readRegistryState(queries: Queries): Promise<RegistryStateRow> {
  return toState(await queries.selectFrom('registry_state').selectAll().executeTakeFirstOrThrow());
}

/** The exact bytes of an accepted registry. */
export async function readRegistrySnapshot(queries: Queries, checksum: Sha256): Promise<Uint8Array> {
  const row = await queries
    .selectFrom('registry_snapshot')
    .select('content')
    .where('checksum', '=', checksum)
    .executeTakeFirstOrThrow();
  return row.content;
}

/** Keeps a valid registry for ever and puts it in force. */
export async function acceptRegistrySnapshot(
  queries: Queries,
  registry: {
    readonly checksum: Sha256;
    readonly content: Uint8Array;
    readonly registryVersion: string;
    readonly warnings: readonly Finding[];
    readonly actorId: number;
  },
): Promise<void> {
  await queries
    .insertInto('registry_snapshot')
    .values({
      checksum: registry.checksum,
      content: Buffer.from(registry.content),
      registry_version: registry.registryVersion,
      accepted_by: registry.actorId,
    })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  await queries
    .updateTable('registry_state')
    .set({
      checksum: registry.checksum,
      rejected_checksum: null,
      faults: sql`'[]'::jsonb` as never,
      warnings: JSON.stringify(registry.warnings) as never,
      changed_at: new Date(),
    })
    .execute();
}

/** Notes that the offered registry was refused; the one in force stays. */
export async function rejectRegistry(
  queries: Queries,
  rejectedChecksum: string,
  faults: readonly Finding[],
): Promise<void> {
  await queries
    .updateTable('registry_state')
    .set({
      rejected_checksum: rejectedChecksum,
      faults: JSON.stringify(faults) as never,
      changed_at: new Date(),
    })
    .execute();
}

function toState(row: {
  checksum: string | null;
  rejected_checksum: string | null;
  faults: Finding[];
  warnings: Finding[];
}): RegistryStateRow {
  return {
    checksum: row.checksum as Sha256 | null,
    rejectedChecksum: row.rejected_checksum,
    faults: row.faults,
    warnings: row.warnings,
  };
}
