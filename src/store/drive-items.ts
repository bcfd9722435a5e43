import { sql } from 'kysely';
import type { RememberedItem } from '../core/item-memory.ts';
import type { Sha256 } from '../core/package.ts';
import type { Queries } from './database.ts';

/** Rows of one statement, far below what a statement may have as parameters. */
const rowsAtOnce = 500;

/** Everything remembered of one drive, as far as its content is still stored (bug 3). */
export async function listDriveItems(queries: Queries, driveId: string): Promise<RememberedItem[]> {
  const rows = await queries
    .selectFrom('drive_item')
    .innerJoin('blob', 'blob.checksum', 'drive_item.checksum')
    .selectAll('drive_item')
    .where('drive_id', '=', driveId)
    .execute();
  return rows.map((row) => ({
    path: row.path,
    itemId: row.item_id,
    eTag: row.e_tag,
    cTag: row.c_tag,
    sizeBytes: row.size_bytes,
    quickXorHash: row.quick_xor_hash,
    modifiedAt: row.modified_at,
    checksum: row.checksum as Sha256,
    unverified: row.unverified,
  }));
}

/** Remembers the items whose content is stored, in the place of what was known of their paths; answers with these paths. */
export async function saveDriveItems(
  queries: Queries,
  driveId: string,
  items: readonly RememberedItem[],
): Promise<ReadonlySet<string>> {
  const saved = new Set<string>();
  for (let from = 0; from < items.length; from += rowsAtOnce) {
    const some = items.slice(from, from + rowsAtOnce);
    const stored = await findStored(queries, [...new Set(some.map((item) => item.checksum))]);
    const kept = some.filter((item) => stored.has(item.checksum));
    if (kept.length > 0) await insert(queries, driveId, kept);
    for (const item of kept) saved.add(item.path);
  }
  return saved;
}

async function findStored(queries: Queries, checksums: readonly Sha256[]): Promise<ReadonlySet<string>> {
  const rows = await queries
    .selectFrom('blob')
    .select('checksum')
    .where('checksum', 'in', checksums)
    .execute();
  return new Set(rows.map((row) => row.checksum));
}

/** In the order of their paths, so that two daemons that write the same rows do not wait for each other in a circle. */
async function insert(queries: Queries, driveId: string, items: readonly RememberedItem[]): Promise<void> {
  const rows = items.toSorted((a, b) => (a.path < b.path ? -1 : 1)).map((item) => rowOf(driveId, item));
  await queries
    .insertInto('drive_item')
    .values(rows)
    .onConflict((conflict) =>
      conflict.columns(['drive_id', 'path']).doUpdateSet((row) => ({
        item_id: row.ref('excluded.item_id'),
        e_tag: row.ref('excluded.e_tag'),
        c_tag: row.ref('excluded.c_tag'),
        size_bytes: row.ref('excluded.size_bytes'),
        quick_xor_hash: row.ref('excluded.quick_xor_hash'),
        modified_at: row.ref('excluded.modified_at'),
        checksum: row.ref('excluded.checksum'),
        unverified: row.ref('excluded.unverified'),
        captured_at: sql`clock_timestamp()`,
      })),
    )
    .execute();
}

function rowOf(driveId: string, item: RememberedItem) {
  return {
    drive_id: driveId,
    path: item.path,
    item_id: item.itemId,
    e_tag: item.eTag,
    c_tag: item.cTag,
    size_bytes: item.sizeBytes,
    quick_xor_hash: item.quickXorHash,
    modified_at: item.modifiedAt,
    checksum: item.checksum,
    unverified: item.unverified,
  };
}
