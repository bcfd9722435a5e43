import { hasScope } from '../core/permissions.ts';
import type { PackageName } from '../store/job-queue.ts';
import type { CallContext } from './context.ts';
import { readPackages } from './read-knowledge.ts';

/** A package to show somebody around with. */
export interface ExamplePackage extends PackageName {
  /** The number of the active version; null where none is. */
  readonly activeNumber: number | null;
  /** The newest version's number; 0 where there is none. */
  readonly newestNumber: number;
}

/**
 * The first agent of the default environment that the caller may see, in an environment of his where that is not one:
 * one with versions before others, and enabled ones before the rest. Null where there is none, or he may not read.
 */
export async function readExamplePackage(context: CallContext): Promise<ExamplePackage | null> {
  const { caller, policy } = context;
  if (!hasScope(caller, 'knowledge:read')) return null;
  const mine = policy.environments.filter((name) => caller.environments?.has(name) ?? true);
  const environment = mine.includes(policy.defaultEnvironment) ? policy.defaultEnvironment : mine[0];
  if (environment === undefined) return null;
  const rows = await readPackages(context, environment);
  const enabled = rows.filter((row) => row.listed && row.enabled);
  const row = [...enabled, ...rows].find(({ nextNumber }) => nextNumber > 1) ?? enabled[0] ?? rows[0];
  if (row === undefined) return null;
  const { agentKey, activeNumber, nextNumber } = row;
  return { agentKey, environment, activeNumber, newestNumber: nextNumber - 1 };
}
