import type { Registry } from '../src/core/package.ts';
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

/**
 * The safety net: hashes the files of every watched agent once and hints at each package that does not hold what was
 * seen. Two statements for all packages together, so that thousands can be looked at every half minute. Does nothing
 * while the root is not well (F50).
 */
export async function resyncAll(options: ResyncOptions): Promise<void> {
  const { context, source, pool, isRootWell } = options;
  if (!isRootWell()) return;
  const known = new Map((await readKnownChecksums(context)).map((row) => [keyOf(row), row]));
  const unchanged = [];
  for (const agent of options.registry?.agents.values() ?? []) {
    if (!agent.enabled) continue;
    const look = await source
      .look(agent.files, { withContent: false, maxFileBytes: context.policy.maxFileBytes })
      .catch(() => null); // The package's own look meets the same trouble and tells it.
    const seen = look && seenBundleChecksum(agent, look);
    for (const environment of options.watchEnvironments) {
      const name = { agentKey: agent.agentKey, environment };
      const holds = known.get(keyOf(name));
      const same = seen !== null && (holds?.active === seen || holds?.newest === seen);
      if (!same) pool.hint(name, 'resync');
      else if (!pool.isBusy(name)) unchanged.push(name);
    }
  }
  if (isRootWell()) await noteUnchanged(context, unchanged);
}

function keyOf(name: { readonly agentKey: string; readonly environment: string }): string {
  return `${name.environment}/${name.agentKey}`;
}
