import type { Command } from 'commander';
import { resolveEnvironment } from '../operations/names.ts';
import { readPackages } from '../operations/read-knowledge.ts';
import type { Cli } from './cli.ts';
import { addCommand, environmentOption, jsonOption, type EnvironmentOption } from './options.ts';
import { packageJson } from './output/knowledge-json.ts';
import { holdText } from './output/package-line.ts';
import { printable } from './output/printable.ts';
import { formatTable, formatTime, type Column } from './output/table.ts';
import { readPackageViews, type PackageView } from './read-package-views.ts';
import type { PackageRow, SourceStatusRow } from './rows.ts';
import { nameOf, newestNumber, pendingNumber } from './version-names.ts';
import { withCall } from './with-call.ts';

/** `packages`: every agent of an environment, what it runs on and how its source is. */
export function addPackages(program: Command, cli: Cli): void {
  addCommand(program, {
    use: 'packages',
    about: 'list the packages of an environment, with or without versions',
    example: 'packages --env staging',
  })
    .addOption(environmentOption())
    .addOption(jsonOption())
    .action((options: EnvironmentOption) => listPackages(cli, options));
}

async function listPackages(cli: Cli, options: EnvironmentOption): Promise<void> {
  const { environment, views } = await withCall(
    cli,
    async (call) => ({
      environment: resolveEnvironment(call.policy, options.env),
      views: await readPackageViews(call, await readPackages(call, options.env)),
    }),
    { environments: [options.env] },
  );
  if (options.json) return cli.printJson({ environment, packages: views.map(packageJson) });
  if (views.length > 0) return cli.print(...formatTable(columns, views));
  cli.print(
    `No packages in ${printable(environment)} yet.`,
    'They come with the first valid registry: see "npx agent-knowledge registry check".',
  );
}

const columns: readonly Column<PackageView>[] = [
  { heading: 'AGENT', show: ({ row }) => row.agentKey },
  { heading: 'ACTIVE', show: ({ row }) => nameOf(row.activeNumber) ?? '-' },
  { heading: 'NEWEST', show: ({ row }) => nameOf(newestNumber(row)) ?? '-' },
  { heading: 'ENABLED', show: ({ row }) => (row.listed ? (row.enabled ? 'yes' : 'no') : 'not listed') },
  { heading: 'SOURCE', show: ({ status }) => sourceText(status) },
  { heading: 'LAST SUCCESS', show: ({ status }) => formatTime(status?.lastSuccessAt ?? null) },
  { heading: 'STATE', show: ({ row }) => stateText(row) },
];

function sourceText(status: SourceStatusRow | undefined): string {
  if (status === undefined) return '-';
  const reason = status.reason === null ? '' : ` ${status.reason}`;
  return `${status.state}${reason}${status.stale ? ' (stale)' : ''}`;
}

function stateText(row: PackageRow): string {
  if (row.hold !== null) return holdText(row.hold);
  return pendingNumber(row) === null ? '' : 'pending';
}
