import type { PackageName } from '../store/job-queue.ts';
import type { CallContext } from './context.ts';
import { readPackages } from './read-knowledge.ts';

/** The packages of an environment that a refresh of everything is about: listed and enabled. Needs `knowledge:read`. */
export async function readEnabledPackages(context: CallContext, environment: string): Promise<PackageName[]> {
  const packages = await readPackages(context, environment);
  return packages
    .filter((row) => row.listed && row.enabled)
    .map(({ agentKey }) => ({ agentKey, environment }));
}
