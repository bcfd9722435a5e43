import { sha256 } from '../core/checksum.ts';
import { KnowledgeError } from '../core/errors.ts';
import type { Sha256 } from '../core/package.ts';
import type { Database, Queries } from './database.ts';

/**
 * Stores contents under their checksums, each in a statement of its own and in checksum order, before the transaction
 * that refers to them: two packages that share files would deadlock otherwise, and an unused blob is harmless
 * (finding 20, F47).
 */
export async function insertBlobs(
  database: Database,
  blobs: readonly { readonly checksum: Sha256; readonly content: Uint8Array }[],
): Promise<void> {
  const wanted = new Map(blobs.map((blob) => [blob.checksum, blob.content]));
  const known = await database.read((queries) => findKnown(queries, [...wanted.keys()]));
  const missing = [...wanted].filter(([checksum]) => !known.has(checksum)).toSorted(byChecksum);
  for (const [checksum, content] of missing) {
    await database.read((queries) =>
      queries
        .insertInto('blob')
        .values({ checksum, content: Buffer.from(content) })
        .onConflict((conflict) => conflict.doNothing())
        .execute(),
    );
  }
}

/**
 * Reads contents by checksum, each hashed again on the way out: bytes that do not match their name are never handed
 * on, they are an `INTERNAL` error naming the checksum (G4).
 */
export async function readBlobs(
  queries: Queries,
  checksums: readonly Sha256[],
): Promise<ReadonlyMap<Sha256, Uint8Array>> {
  const rows = await queries
    .selectFrom('blob')
    .select(['checksum', 'content'])
    .where('checksum', 'in', [...new Set(checksums)])
    .execute();
  for (const row of rows) assertIntact(row.checksum, row.content);
  return new Map(rows.map((row) => [row.checksum as Sha256, row.content as Uint8Array]));
}

function assertIntact(checksum: string, content: Uint8Array): void {
  const found = sha256(content);
  if (found === checksum) return;
  throw new KnowledgeError('INTERNAL', `Stored content is damaged: expected ${checksum}, found ${found}.`);
}

async function findKnown(queries: Queries, checksums: readonly Sha256[]): Promise<ReadonlySet<string>> {
  if (checksums.length === 0) return new Set();
  const rows = await queries
    .selectFrom('blob')
    .select('checksum')
    .where('checksum', 'in', checksums)
    .execute();
  return new Set(rows.map((row) => row.checksum));
}

function byChecksum(a: readonly [string, unknown], b: readonly [string, unknown]): number {
  return a[0] < b[0] ? -1 : 1;
}
