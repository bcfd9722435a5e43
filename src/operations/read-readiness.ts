import { KnowledgeError } from '../core/errors.ts';
import { readBlobs } from '../store/blobs.ts';
import { listLiveDaemons } from '../store/daemons.ts';
import type { Queries } from '../store/database.ts';
import { readRegistryState } from '../store/registry-snapshots.ts';
import { watchesAny } from '../store/source-status.ts';
import { listVersions, readFiles, type VersionRow } from '../store/package-versions.ts';
import type { Context } from './context.ts';

/**
 * Why knowledge cannot be answered from real content, each as a sentence; empty where it can: the database answers,
 * some package has an active version, and a file of it comes back with the bytes its checksum says. The sentences name
 * no host and quote no content, so that anybody may be shown them (T23).
 */
export async function readReadinessFaults(context: Pick<Context, 'database'>): Promise<readonly string[]> {
  try {
    return await context.database.read(findContentFaults);
  } catch (error) {
    if (error instanceof KnowledgeError && error.code === 'UNAVAILABLE') return [error.message];
    throw error;
  }
}

/**
 * What an operator should mend although everything is answered: about the daemons and what they read. As general as the
 * faults are; `doctor` names machines, folders and reasons.
 */
export async function readReadinessWarnings(context: Context): Promise<readonly string[]> {
  const [daemons, registry, watches] = await context.database.read((queries) =>
    Promise.all([listLiveDaemons(queries), readRegistryState(queries), watchesAny(queries)]),
  );
  const conditions = daemons.map((daemon) => daemon.condition);
  const offered = new Set(conditions.flatMap((condition) => condition.registryOffered ?? []));
  return [
    ...(watches && daemons.length === 0 ? ['No daemon is alive: saves become no versions.'] : []),
    ...(registry.rejectedChecksum === null
      ? []
      : ['The registry is refused; the last good one stays in force.']),
    ...(offered.size > 1 ? ['Live daemons read different registries; none of them takes effect.'] : []),
    ...(conditions.some(({ root }) => root === 'missing') ? ['A daemon has lost its knowledge folder.'] : []),
    ...(conditions.some(({ watcher }) => watcher === 'degraded')
      ? ['A daemon gets no file events; it finds changes by its sweep.']
      : []),
  ];
}

async function findContentFaults(queries: Queries): Promise<string[]> {
  const [version] = await listVersions(queries, { active: true }, { limit: 1, staleAfterMs: 0 });
  if (!version) return ['No package has an active version yet.'];
  const intact = await readsBack(queries, version);
  return intact ? [] : [`A file of ${version.agentKey} in ${version.environment} does not read back.`];
}

async function readsBack(queries: Queries, version: VersionRow): Promise<boolean> {
  const files = await readFiles(queries, [version.id]);
  const smallest = files.toSorted((a, b) => a.sizeBytes - b.sizeBytes)[0];
  if (smallest === undefined) return false;
  try {
    return (await readBlobs(queries, [smallest.checksum])).has(smallest.checksum);
  } catch (error) {
    if (error instanceof KnowledgeError && error.code === 'INTERNAL') return false;
    throw error;
  }
}
