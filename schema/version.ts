import {
  historyList,
  readActiveVersion,
  readPackage,
  readVersion,
  readVersionsByChecksum,
} from '../src/operations/read-knowledge.ts';
import { gaplessPositions, parsePageRequest, toPage, type PageRequest } from '../src/core/page.ts';
import { versionName } from '../src/core/package.ts';
import { requireScope } from '../src/core/permissions.ts';
import {
  afterArgument,
  agentKeyArgument,
  environmentArgument,
  firstArgument,
  knowledgeVersionArgument,
} from './arguments.ts';
import { builder } from './builder.ts';
import { connectionOf, declareConnection, type Connection } from './connection.ts';
import type { SchemaContext } from './context.ts';
import { KnowledgeFile } from './file.ts';
import { FindingType } from './finding.ts';
import { priceOfList, priceOfPage } from './price.ts';
import type { PackageRow, VersionRow } from './rows.ts';

const VersionStatus = builder.enumType('VersionStatus', {
  description: 'What a version is to its package now.',
  values: {
    ACTIVE: { description: 'The one that agents are given.' },
    SUPERSEDED: { description: 'Any other one, older or newer: kept for ever and readable.' },
  } as const,
});

export const KnowledgeVersion = builder.objectRef<VersionRow>('KnowledgeVersion').implement({
  description:
    'One immutable version of a package: exactly the files it was captured with, for ever. What moves (`status`, `isActive`, `sourceStale`, `generation`) is its package’s and was read together with it.',
  fields: (t) => ({
    packageId: t.exposeInt('id', {
      description: 'The id of this version across all agents and environments. Ids grow and have gaps.',
    }),
    agentKey: t.exposeString('agentKey', { description: 'The agent it belongs to.' }),
    environment: t.exposeString('environment', { description: 'The environment it belongs to.' }),
    agentCode: t.exposeString('agentCode', {
      description: 'The agent’s code in the registry when this version was captured.',
    }),
    stage: t.exposeString('stage', {
      description: 'The agent’s stage in the registry when this version was captured.',
    }),
    knowledgeVersion: t.string({
      description: 'Its name, `v1`, `v2`, …: gapless within agent and environment, never reused.',
      resolve: (version) => versionName(version.number),
    }),
    packageVersion: t.exposeString('packageVersion', {
      description: 'The label the registry gave the package, such as `v01`; not a version number.',
    }),
    registryVersion: t.exposeString('registryVersion', {
      description: 'The label of the registry it was captured under.',
    }),
    checksum: t.exposeString('checksum', {
      description:
        'The bundle checksum: SHA-256 of the `SHA256SUMS` text of its files, as 64 lowercase hex digits.',
    }),
    fileCount: t.exposeInt('fileCount', { description: 'How many files it has.' }),
    totalSizeBytes: t.exposeInt('totalSizeBytes', { description: 'Bytes of all its files together.' }),
    sourceType: t.exposeString('sourceType', { description: 'Where it was read from: `local` or `graph`.' }),
    status: t.field({
      type: VersionStatus,
      description: 'Whether it is the active version.',
      resolve: (version) => (version.isActive ? 'ACTIVE' : 'SUPERSEDED'),
    }),
    isActive: t.exposeBoolean('isActive', { description: 'Whether it is the active version.' }),
    loadedAt: t.field({
      type: 'DateTime',
      description: 'When it was captured.',
      resolve: (version) => version.loadedAt,
    }),
    loadedBy: t.exposeString('loadedBy', {
      nullable: true,
      description: 'Who had it captured or promoted; null where the name has been erased.',
    }),
    sourceStale: t.exposeBoolean('sourceStale', {
      description: 'On the active version: whether its source can no longer be vouched for. Else false.',
    }),
    generation: t.exposeInt('generation', {
      description:
        'How often the package’s pointer has moved; a runtime that has seen a higher one has seen the future.',
    }),
    warnings: t.field({
      type: [FindingType],
      description: 'What a person should know about it although it was accepted.',
      resolve: (version) => [...version.warnings],
    }),
    files: t.field({
      type: [KnowledgeFile],
      complexity: { field: 10, multiplier: 1 },
      description: 'Its files in load order. Needs the scope `knowledge:read` wherever it is asked for.',
      resolve: async (version, _args, { call, loaders }) => {
        requireScope(call.caller, 'knowledge:read');
        return [...(await loaders.manifests.load(version.id))];
      },
    }),
  }),
});

export const KnowledgeVersionConnection = declareConnection({
  name: 'KnowledgeVersion',
  node: KnowledgeVersion,
  rows: 'Versions of one package, newest first',
  total: 'How many versions the package has.',
});

/** A page of a package's history; the caller must have been given the package. */
export async function historyOf(
  context: SchemaContext,
  row: PackageRow,
  request: PageRequest,
): Promise<Connection<VersionRow>> {
  requireScope(context.call.caller, 'knowledge:read');
  const list = historyList(row);
  const wanted = parsePageRequest(request, list);
  const newest = row.nextNumber - 1;
  // Through the loader, so that the histories of many packages are one statement.
  const versions = await Promise.all(
    gaplessPositions(newest, wanted).map((number) => versionOf(context, row, number)),
  );
  const page = toPage(versions, wanted, { name: list, positionOf: (version) => version.number });
  return connectionOf(page, async () => ({ count: newest, isExact: true }));
}

/** A version of this package as the package's own row has it, so that `active` is active even while the pointer moves. */
export async function versionOf(
  { loaders }: SchemaContext,
  row: PackageRow,
  number: number,
): Promise<VersionRow> {
  const version = await loaders.versions.load({ ...row, number });
  if (version === null) throw new Error(`A package names a version that is not there: ${number}.`);
  const isActive = number === row.activeNumber;
  return { ...version, isActive, generation: row.generation, sourceStale: isActive && version.sourceStale };
}

builder.queryFields((t) => ({
  activeVersion: t.field({
    type: KnowledgeVersion,
    scope: 'knowledge:read',
    description:
      'What a runtime gives its agent now. `NOT_FOUND` means that there is nothing to give: do not run the agent.',
    args: {
      agentKey: t.arg.string(agentKeyArgument),
      environment: t.arg.string(environmentArgument),
      minGeneration: t.arg.int({
        description:
          'The highest `generation` you have seen. Where the database has a lower one it was restored from a backup, and the answer is `CONFLICT`.',
      }),
    },
    resolve: (_root, { agentKey, environment = null, minGeneration = null }, { call }) =>
      readActiveVersion(call, { agentKey, environment, minGeneration }),
  }),
  versions: t.field({
    type: KnowledgeVersionConnection,
    scope: 'knowledge:read',
    complexity: priceOfPage,
    description: 'The history of a package, newest first.',
    args: {
      agentKey: t.arg.string(agentKeyArgument),
      environment: t.arg.string(environmentArgument),
      first: t.arg.int(firstArgument),
      after: t.arg.string(afterArgument),
    },
    resolve: async (_root, { agentKey, environment, ...page }, context) =>
      historyOf(context, await readPackage(context.call, agentKey, environment), page),
  }),
  version: t.field({
    type: KnowledgeVersion,
    scope: 'knowledge:read',
    description: 'One exact version of a package, active or not.',
    args: {
      agentKey: t.arg.string(agentKeyArgument),
      environment: t.arg.string(environmentArgument),
      knowledgeVersion: t.arg.string(knowledgeVersionArgument),
    },
    resolve: (_root, { agentKey, environment = null, knowledgeVersion }, { call }) =>
      readVersion(call, { agentKey, environment, knowledgeVersion }),
  }),
  versionsByChecksum: t.field({
    type: [KnowledgeVersion],
    scope: 'knowledge:read',
    complexity: priceOfList,
    description: 'Every version with exactly this content, across agents and environments; at most 1,000.',
    args: {
      checksum: t.arg.string({
        required: true,
        description: 'A bundle checksum: 64 lowercase hex digits.',
      }),
    },
    resolve: (_root, { checksum }, { call }) => readVersionsByChecksum(call, checksum),
  }),
}));
