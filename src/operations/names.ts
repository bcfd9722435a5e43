import { KnowledgeError } from '../core/errors.ts';
import { canSee, packageNotFound, type Caller } from '../core/permissions.ts';
import type { PackageName } from '../store/job-queue.ts';
import type { Policy } from './context.ts';

/** The environment a call means: the default one where it names none (K-010); throws `NOT_FOUND` for an unknown one. */
export function resolveEnvironment(policy: Policy, environment: string | null | undefined): string {
  const name = environment ?? policy.defaultEnvironment;
  if (policy.environments.includes(name)) return name;
  const found = JSON.stringify(name.slice(0, 40));
  throw new KnowledgeError(
    'NOT_FOUND',
    `No environment ${found}; there are ${policy.environments.join(', ')}.`,
  );
}

/** The package a call means, where the caller may know of it; throws `NOT_FOUND` in the same words whether it is foreign or absent. */
export function resolvePackage(
  context: { readonly policy: Policy; readonly caller: Caller },
  agentKey: string,
  environment: string | null | undefined,
): PackageName {
  const { policy, caller } = context;
  const name = { agentKey, environment: environment ?? policy.defaultEnvironment };
  // Asked first, so that a bound key is told the same of an environment that is not there and of one that is not its.
  if (!canSee(caller, name.agentKey, name.environment)) throw packageNotFound(agentKey, name.environment);
  resolveEnvironment(policy, name.environment);
  return name;
}

/** What transactions that lock this package take turns at. */
export function subjectOf(name: PackageName): string {
  return `${name.environment}/${name.agentKey}`;
}
