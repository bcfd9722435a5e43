import { sha256 } from '../core/checksum.ts';
import type { Sha256 } from '../core/package.ts';
import type { Queries } from './database.ts';

/** Keeps a person's free text in a row that can be erased, and answers the hash that facts may hold for ever. */
export async function keepRemark(queries: Queries, body: string): Promise<Sha256> {
  const hash = sha256(body);
  await queries
    .insertInto('remark')
    .values({ hash, body })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  return hash;
}
