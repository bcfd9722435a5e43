import DataLoader from 'dataloader';
import { KnowledgeError } from '../src/core/errors.ts';
import type { Sha256 } from '../src/core/package.ts';
import type { CallContext } from '../src/operations/context.ts';
import {
  readContents,
  readManifests,
  readNamedVersions,
  readPackageOf,
  readStatuses,
} from '../src/operations/read-knowledge.ts';
import { writeUnifiedDiffs, type FileComparison } from '../src/operations/read-version-diff.ts';
import type { FileRow, PackageName, PackageRow, SourceStatusRow, VersionRow } from './rows.ts';

export interface VersionName extends PackageName {
  readonly number: number;
}

/** Reads for many fields at once, so that a list costs as many statements as one row. */
export interface Loaders {
  readonly packages: DataLoader<PackageName, PackageRow>;
  readonly versions: DataLoader<VersionName, VersionRow | null>;
  /** Files of a version in load order. */
  readonly manifests: DataLoader<number, readonly FileRow[]>;
  readonly statuses: DataLoader<PackageName, SourceStatusRow | null>;
  /** The exact bytes of a file of a manifest. */
  readonly contents: DataLoader<FileRow, Uint8Array>;
  /** Unified diffs; what they read counts as content of the answer. */
  readonly unifiedDiffs: DataLoader<FileComparison, string>;
}

/** Bytes of content that one answer holds at most: as many as the largest package (T34). */
export const maxContentBytes = 16 * 1024 * 1024;
/** Unified diffs that one answer holds at most: as many as the largest package has files. */
export const maxUnifiedDiffs = 200;

/**
 * The loaders of one request. They gather what is asked for in the same moment and remember nothing afterwards: in a
 * document with several mutations each one must see what those before it have done. `isWanted`: whether the caller still
 * waits, which long work asks in between.
 */
export function createLoaders(call: CallContext, isWanted: () => boolean): Loaders {
  const contents = createContentLoader(call);
  return {
    packages: loader((names) => loadPackages(call, names)),
    versions: loader(async (names) => {
      const rows = await readNamedVersions(call, names);
      return pick(new Map(rows.map((row) => [versionKey(row), row])), names.map(versionKey));
    }),
    manifests: loader(async (ids) => {
      const files = Map.groupBy(await readManifests(call, [...new Set(ids)]), (file) => file.versionId);
      return ids.map((id) => files.get(id) ?? []);
    }),
    statuses: loader(async (names) => {
      const rows = await readStatuses(call, names);
      return pick(new Map(rows.map((row) => [packageKey(row), row])), names.map(packageKey));
    }),
    contents,
    unifiedDiffs: createDiffLoader(contents, isWanted),
  };
}

/** Sizes are known from the manifest, so that an answer that would be too large is refused before anything is read. */
function createContentLoader(call: CallContext): Loaders['contents'] {
  let answered = 0;
  return loader(async (files) => {
    answered += files.reduce((sum, file) => sum + file.sizeBytes, 0);
    if (answered > maxContentBytes) throw tooMuchContent(answered);
    const contents = await readContents(call, [...new Set(files.map((file) => file.checksum))]);
    return files.map((file) => contents.get(file.checksum) ?? missingContent(file.checksum));
  });
}

/** Each one may take a while to compute, so their number is bounded before the first content is read (G16). */
function createDiffLoader(contents: Loaders['contents'], isWanted: () => boolean): Loaders['unifiedDiffs'] {
  let answered = 0;
  return loader(async (comparisons) => {
    answered += comparisons.length;
    if (answered > maxUnifiedDiffs) throw tooManyDiffs(answered);
    return writeUnifiedDiffs(comparisons, (file) => contents.load(file), isWanted);
  });
}

async function loadPackages(
  call: CallContext,
  names: readonly PackageName[],
): Promise<readonly (PackageRow | Error)[]> {
  const reads = new Map(names.map((name) => [packageKey(name), name]));
  const rows = [...reads].map(async ([key, name]) => [key, await readPackageOf(call, name)] as const);
  const found = new Map(await Promise.all(rows));
  return names.map(
    (name) => found.get(packageKey(name)) ?? new Error('A package was read and is not there.'),
  );
}

function loader<Key, Row>(
  read: (keys: readonly Key[]) => Promise<readonly (Row | Error)[]>,
): DataLoader<Key, Row> {
  return new DataLoader(read, { cache: false });
}

function pick<Row>(found: ReadonlyMap<string, Row>, keys: readonly string[]): (Row | null)[] {
  return keys.map((key) => found.get(key) ?? null);
}

function packageKey(name: PackageName): string {
  return `${name.environment} ${name.agentKey}`;
}

function versionKey(name: VersionName): string {
  return `${packageKey(name)} ${name.number}`;
}

function tooMuchContent(bytes: number): KnowledgeError {
  return new KnowledgeError(
    'BAD_USER_INPUT',
    `One answer holds at most ${maxContentBytes} bytes of content; this one would hold ${bytes} or more. Ask for fewer versions; a \`unified\` counts as both contents that it compares.`,
    { details: { maxContentBytes } },
  );
}

function tooManyDiffs(count: number): KnowledgeError {
  return new KnowledgeError(
    'BAD_USER_INPUT',
    `One answer holds at most ${maxUnifiedDiffs} unified diffs; this one would hold ${count} or more. Compare fewer versions at once.`,
    { details: { maxUnifiedDiffs } },
  );
}

function missingContent(checksum: Sha256): Error {
  return new Error(`Stored content is missing: ${checksum}.`);
}
