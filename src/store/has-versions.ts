import type { Queries } from './database.ts';

/** Whether any version was ever stored here, of whatever agent and environment. */
export async function hasVersions(queries: Queries): Promise<boolean> {
  const found = await queries.selectFrom('package_version').select('id').limit(1).executeTakeFirst();
  return found !== undefined;
}
