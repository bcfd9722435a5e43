import { readPackage, readPackages } from '../src/operations/read-knowledge.ts';
import { afterArgument, agentKeyArgument, environmentArgument, firstArgument } from './arguments.ts';
import { builder } from './builder.ts';
import type { SchemaContext } from './context.ts';
import { Hold } from './hold.ts';
import { priceOfList, priceOfPage } from './price.ts';
import type { PackageRow, SourceStatusRow, VersionRow } from './rows.ts';
import { SourceStatus } from './source-status.ts';
import { historyOf, KnowledgeVersion, KnowledgeVersionConnection, versionOf } from './version.ts';

export const KnowledgePackage = builder.objectRef<PackageRow>('KnowledgePackage').implement({
  description:
    'One agent in one environment: what moves. Its versions never change; which of them is active, and whether it is held, does.',
  fields: (t) => ({
    agentKey: t.exposeString('agentKey', { description: 'The agent, by its key in the registry.' }),
    environment: t.exposeString('environment', { description: 'The environment.' }),
    agentCode: t.exposeString('agentCode', { description: 'The agent’s code in the registry now.' }),
    stage: t.exposeString('stage', { description: 'The agent’s stage in the registry now.' }),
    enabled: t.exposeBoolean('enabled', { description: 'Whether the registry lets it be refreshed.' }),
    listed: t.exposeBoolean('listed', {
      description: 'Whether the registry lists the agent; one that it no longer lists keeps its versions.',
    }),
    active: t.field({
      type: KnowledgeVersion,
      nullable: true,
      description: 'The version that agents are given; null before the first.',
      resolve: (row, _args, context) => namedVersion(context, row, row.activeNumber),
    }),
    newest: t.field({
      type: KnowledgeVersion,
      nullable: true,
      description: 'The version captured last, active or not; null before the first.',
      resolve: (row, _args, context) => namedVersion(context, row, newestNumber(row)),
    }),
    pending: t.field({
      type: KnowledgeVersion,
      nullable: true,
      description:
        'The newest version while it waits for somebody to activate it: it is not active, and nothing holds the package.',
      resolve: (row, _args, context) => namedVersion(context, row, pendingNumber(row)),
    }),
    hold: t.field({
      type: Hold,
      nullable: true,
      description: 'What keeps refreshes from moving the pointer; null while nothing does.',
      resolve: (row) => row.hold,
    }),
    generation: t.exposeInt('generation', {
      description: 'Grows with every move of the pointer and never goes down.',
    }),
    sourceStale: t.boolean({
      description:
        'Whether the source can no longer be vouched for: the last look failed, the registry is rejected, or a watched package has not been looked at with success for too long.',
      resolve: async (row, _args, context) => (await statusOf(context, row)).stale,
    }),
    sourceStatus: t.field({
      type: SourceStatus,
      description: 'How the source was when it was last looked at.',
      resolve: (row, _args, context) => statusOf(context, row),
    }),
    versions: t.field({
      type: KnowledgeVersionConnection,
      complexity: priceOfPage,
      description: 'Its history, newest first. Needs the scope `knowledge:read` wherever it is asked for.',
      args: { first: t.arg.int(firstArgument), after: t.arg.string(afterArgument) },
      resolve: (row, page, context) => historyOf(context, row, page),
    }),
  }),
});

function newestNumber(row: PackageRow): number | null {
  return row.nextNumber > 1 ? row.nextNumber - 1 : null;
}

function pendingNumber(row: PackageRow): number | null {
  const newest = newestNumber(row);
  return row.hold === null && newest !== row.activeNumber ? newest : null;
}

async function namedVersion(
  context: SchemaContext,
  row: PackageRow,
  number: number | null,
): Promise<VersionRow | null> {
  return number === null ? null : versionOf(context, row, number);
}

async function statusOf({ loaders }: SchemaContext, row: PackageRow): Promise<SourceStatusRow> {
  const status = await loaders.statuses.load(row);
  if (status === null) throw new Error('A package has no source status.');
  return status;
}

builder.queryFields((t) => ({
  packages: t.field({
    type: [KnowledgePackage],
    scope: 'knowledge:read',
    complexity: priceOfList,
    description:
      'Every agent of the registry in one environment, with or without versions, and agents that the registry no longer lists but that have versions.',
    args: { environment: t.arg.string(environmentArgument) },
    resolve: (_root, { environment }, { call }) => readPackages(call, environment),
  }),
  package: t.field({
    type: KnowledgePackage,
    scope: 'knowledge:read',
    description: 'One agent in one environment.',
    args: { agentKey: t.arg.string(agentKeyArgument), environment: t.arg.string(environmentArgument) },
    resolve: (_root, { agentKey, environment }, { call }) => readPackage(call, agentKey, environment),
  }),
}));
