import pLimit from 'p-limit';
import type { PackageDefinition, Registry } from '../src/core/package.ts';
import { seenBundleChecksum } from '../src/core/seen-bundle.ts';
import type { Context } from '../src/operations/context.ts';
import { noteUnchanged, readKnownChecksums } from '../src/operations/looker.ts';
import type { Source } from '../src/source/source.ts';
import type { LookerPool } from './looker-pool.ts';

export interface ResyncOptions {
  readonly context: Context;
  readonly source: Source;
  readonly registry: Registry | null;
  readonly watchEnvironments: readonly string[];
  readonly pool: LookerPool;
  /** Whether the source's root is well; else nothing that is seen there counts. */
  readonly isRootWell: () => boolean;
}

type Known = Awaited<ReturnType<typeof readKnownChecksums>>[number];

/** Agents whose packages are noted as unchanged by one statement: over a drive a pass takes minutes, and none may go stale meanwhile. */
const agentsAtOnce = 200;

/**
 * The safety net: hashes the files of every watched agent once and hints at each package that does not hold what was
 * seen. A statement for hundreds of packages together, so that thousands can be looked at every half minute. Does nothing
 * while the root is not well (F50).
 */
export async function resyncAll(options: ResyncOptions): Promise<void> {
  const { context, source, isRootWell } = options;
  if (!isRootWell()) return;
  const known = new Map((await readKnownChecksums(context)).map((row) => [keyOf(row), row]));
  const agents = [...(options.registry?.agents.values() ?? [])].filter((agent) => agent.enabled);
  const limit = pLimit(source.looksAtOnce);
  for (let first = 0; first < agents.length; first += agentsAtOnce) {
    const some = agents.slice(first, first + agentsAtOnce);
    const unchanged = await limit.map(some, (agent) => lookAtAgent(options, agent, known));
    if (isRootWell()) await noteUnchanged(context, unchanged.flat());
  }
}

/** Hints at the packages of one agent that do not hold what is there; answers with the others that nobody looks at now. */
async function lookAtAgent(
  { context, source, pool, watchEnvironments }: ResyncOptions,
  agent: PackageDefinition,
  known: ReadonlyMap<string, Known>,
) {
  const { maxFileBytes } = context.policy;
  const look = await source
    .look(agent.files, { withContent: false, maxFileBytes, isRoutine: true })
    .catch(() => null); // The package's own look meets the same trouble and tells it.
  const seen = look && seenBundleChecksum(agent, look);
  const names = watchEnvironments.map((environment) => ({ agentKey: agent.agentKey, environment }));
  return names.filter((name) => {
    const holds = known.get(keyOf(name));
    const same = seen !== null && (holds?.active === seen || holds?.newest === seen);
    if (!same) pool.hint(name, 'resync');
    return same && !pool.isBusy(name);
  });
}

function keyOf(name: { readonly agentKey: string; readonly environment: string }): string {
  return `${name.environment}/${name.agentKey}`;
}
