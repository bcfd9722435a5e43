import { KnowledgeError } from '../core/errors.ts';
import { parseVersionName } from '../core/package.ts';
import type { CallContext } from '../operations/context.ts';
import { readManifests, readNamedVersions, readPackageOf } from '../operations/read-knowledge.ts';
import type { Change } from '../store/changes.ts';
import type { ChangeFacts } from './describe-change.ts';

/** What a line about a change tells beside what the audit log says; null while the database is away. */
export async function readChangeFacts(call: CallContext, change: Change): Promise<ChangeFacts | null> {
  try {
    const { hold } = await readPackageOf(call, change);
    return { hold, ...(change.kind === 'LOADED' ? await readNews(call, change) : nothingNew) };
  } catch (error) {
    if (error instanceof KnowledgeError && error.code === 'UNAVAILABLE') return null;
    throw error;
  }
}

const nothingNew = { files: null, warnings: [] };

/** What a new version has that the one before it had not, by two manifests; nothing of their content is read. */
async function readNews(call: CallContext, change: Change): Promise<Omit<ChangeFacts, 'hold'>> {
  const { agentKey, environment } = change;
  const number = parseVersionName(change.knowledgeVersion ?? '');
  if (number === null) return nothingNew;
  const numbers = [number, number - 1].filter((wanted) => wanted > 0);
  const versions = await readNamedVersions(
    call,
    numbers.map((wanted) => ({ agentKey, environment, number: wanted })),
  );
  const manifests = await readManifests(
    call,
    versions.map(({ id }) => id),
  );
  const manifestOf = (wanted: number) => {
    const id = versions.find((version) => version.number === wanted)?.id;
    return manifests.filter(({ versionId }) => versionId === id);
  };
  const [now, before] = [manifestOf(number), manifestOf(number - 1)];
  const checksums = new Map(before.map(({ relativePath, checksum }) => [relativePath, checksum]));
  const paths = new Set(now.map(({ relativePath }) => relativePath));
  return {
    files: {
      all: now.length,
      changed: now.filter(({ relativePath, checksum }) => checksums.get(relativePath) !== checksum).length,
      gone: before.filter(({ relativePath }) => !paths.has(relativePath)).length,
    },
    warnings: versions.find((version) => version.number === number)?.warnings ?? [],
  };
}
