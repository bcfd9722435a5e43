import { setImmediate as otherWork } from 'node:timers/promises';
import pLimit from 'p-limit';
import { diffManifests, type ManifestDiff } from '../core/diff-versions.ts';
import { KnowledgeError } from '../core/errors.ts';
import { exactText } from '../core/exact-text.ts';
import { parseVersionName, versionName } from '../core/package.ts';
import { requireScope } from '../core/permissions.ts';
import { unifiedDiff, type DiffSide } from '../core/unified-diff.ts';
import type { PackageName } from '../store/job-queue.ts';
import type { FileRow, VersionRow } from '../store/package-versions.ts';
import { versionNotFound } from './activate-version.ts';
import type { CallContext } from './context.ts';
import { resolvePackage } from './names.ts';
import { readManifests, readNamedVersions, readPackageOf } from './read-knowledge.ts';

/** Two versions of one package, and what leads from the first to the second. */
export interface VersionDiff extends ManifestDiff<FileRow> {
  readonly from: VersionRow;
  readonly to: VersionRow;
  readonly changed: readonly FileChange[];
}

/** A file on both sides of a comparison of versions; null where it is not there. */
export interface FileComparison {
  readonly before: FileRow | null;
  readonly after: FileRow | null;
  readonly from: VersionRow;
  readonly to: VersionRow;
}

/** A file that both versions have. */
export interface FileChange extends FileComparison {
  readonly before: FileRow;
  readonly after: FileRow;
}

export interface DiffInput {
  readonly agentKey: string;
  readonly environment?: string | null;
  readonly from: string;
  readonly to: string;
}

/**
 * Compares any two versions of a package, the older or the newer one first, in two statements and without their contents.
 * Needs `knowledge:read`; throws `NOT_FOUND`, naming the version that is not there.
 */
export async function readVersionDiff(context: CallContext, input: DiffInput): Promise<VersionDiff> {
  requireScope(context.caller, 'knowledge:read');
  const name = resolvePackage(context, input.agentKey, input.environment);
  const { from, to } = await readBoth(context, name, input);
  const files = Map.groupBy(
    await readManifests(context, [...new Set([from.id, to.id])]),
    (file) => file.versionId,
  );
  const diff = diffManifests(files.get(from.id) ?? [], files.get(to.id) ?? []);
  return { ...diff, from, to, changed: diff.changed.map((pair) => ({ ...pair, from, to })) };
}

async function readBoth(context: CallContext, name: PackageName, input: DiffInput) {
  const numbers = [input.from, input.to].map(parseVersionName).filter((number) => number !== null);
  const found = await readNamedVersions(
    context,
    numbers.map((number) => ({ ...name, number })),
  );
  const [from, to] = [input.from, input.to].map((asked) =>
    found.find(({ number }) => versionName(number) === asked),
  );
  if (from && to) return { from, to };
  await readPackageOf(context, name);
  throw versionNotFound(name, from ? input.to : input.from);
}

/**
 * The unified text of each comparison, in their order. Between one and the next whatever else waits gets its turn, so that
 * a long answer to one caller keeps nobody else waiting; callers of one process take turns diff by diff. Ends with an error
 * when `isWanted` says that nobody waits any more.
 */
export async function writeUnifiedDiffs(
  comparisons: readonly FileComparison[],
  contentOf: (file: FileRow) => Promise<Uint8Array>,
  isWanted: () => boolean = () => true,
): Promise<string[]> {
  const sideOf = async (file: FileRow | null, version: VersionRow): Promise<DiffSide | null> =>
    file && {
      relativePath: file.relativePath,
      label: versionName(version.number),
      text: exactText(await contentOf(file)),
    };
  // All at once, so that the contents are read together.
  const sides = await Promise.all(
    comparisons.map(({ before, after, from, to }) => Promise.all([sideOf(before, from), sideOf(after, to)])),
  );
  const texts: string[] = [];
  for (const [before, after] of sides) {
    texts.push(
      await oneAtATime(async () => {
        await otherWork();
        if (!isWanted()) throw nobodyWaits();
        return unifiedDiff(before, after);
      }),
    );
  }
  return texts;
}

/** Diffs of this process at one moment: however many ask, no more than one is computed between two turns of others. */
const oneAtATime = pLimit(1);

function nobodyWaits(): KnowledgeError {
  return new KnowledgeError('UNAVAILABLE', 'The caller has gone before the comparison was made.');
}
