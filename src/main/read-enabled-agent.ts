import type { Context } from '../operations/context.ts';
import { listPackages } from '../store/packages.ts';

/**
 * The first agent of the default environment that the registry in force lists and has enabled, one with an active
 * version before others; null where there is none.
 */
export async function readEnabledAgent({
  database,
  policy,
}: Pick<Context, 'database' | 'policy'>): Promise<string | null> {
  const rows = await database.read((queries) => listPackages(queries, policy.defaultEnvironment));
  const enabled = rows.filter((row) => row.listed && row.enabled);
  return (enabled.find((row) => row.activeNumber !== null) ?? enabled[0])?.agentKey ?? null;
}
