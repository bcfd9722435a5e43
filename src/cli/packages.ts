import type { Command } from 'commander';
import { resolveEnvironment } from '../operations/names.ts';
import { readPackages } from '../operations/read-knowledge.ts';
import type { Cli } from './cli.ts';
import { addCommand, environmentOption, jsonOption, type EnvironmentOption } from './options.ts';
import { packageJson } from './output/knowledge-json.ts';
import { holdText } from './output/package-line.ts';
import { printable } from './output/printable.ts';
import { formatAge } from './output/age.ts';
import type { Style } from './output/colour.ts';
import { printTable } from './output/print-table.ts';
import { sourceFaultLines } from './output/source-faults.ts';
import { formatTime, type Column } from './output/table.ts';
import { readPackageViews, type PackageView } from './read-package-views.ts';
import type { PackageRow, SourceStatusRow } from './rows.ts';
import { nameOf, newestNumber, pendingNumber } from './version-names.ts';
import { withCall } from './with-call.ts';

/** `packages`: every agent of an environment, what it runs on and how its source is. */
export function addPackages(program: Command, cli: Cli): void {
  addCommand(program, {
    use: 'packages',
    about: 'list the packages of an environment, with or without versions, and what speaks against each',
    example: ['packages', 'packages --env staging --json'],
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
  if (views.length > 0) {
    printTable(cli, columnsAt(cli), views);
    return cli.print(...sourceFaultLines(views, cli.paint));
  }
  cli.print(
    `No packages in ${printable(environment)} yet.`,
    'They come with the first valid registry: see "npx agent-knowledge registry check".',
  );
}

function columnsAt({ deps }: Cli): readonly Column<PackageView>[] {
  const age: Column<PackageView> = {
    heading: 'AGE',
    spare: 5,
    show: ({ status }) => formatAge(status?.lastSuccessAt ?? null, deps.clock()),
  };
  return [
    { heading: 'AGENT', show: ({ row }) => row.agentKey },
    {
      heading: 'ACTIVE',
      show: ({ row }) => nameOf(row.activeNumber) ?? '-',
      style: ({ row }) => (row.activeNumber === null ? null : 'good'),
    },
    { heading: 'NEWEST', spare: 2, show: ({ row }) => nameOf(newestNumber(row)) ?? '-' },
    { heading: 'ENABLED', spare: 3, show: ({ row }) => enabledText(row) },
    {
      heading: 'SOURCE',
      least: 10,
      spare: 1,
      show: ({ status }) => sourceText(status),
      style: ({ status }) => sourceStyle(status),
    },
    { heading: 'LAST SUCCESS', spare: 4, show: ({ status }) => formatTime(status?.lastSuccessAt ?? null) },
    // For a person: it is wrong a minute later, as in a file.
    ...(deps.outIsTerminal ? [age] : []),
    { heading: 'STATE', least: 12, show: ({ row }) => stateText(row), style: () => 'waiting' },
  ];
}

function enabledText(row: PackageRow): string {
  if (!row.listed) return 'not listed';
  return row.enabled ? 'yes' : 'no';
}

function sourceStyle(status: SourceStatusRow | undefined): Style | null {
  if (status === undefined) return null;
  if (status.stale || status.reason !== null) return 'bad';
  return status.state === 'ok' ? 'good' : 'waiting';
}

function sourceText(status: SourceStatusRow | undefined): string {
  if (status === undefined) return '-';
  const reason = status.reason === null ? '' : ` ${status.reason}`;
  return `${status.state}${reason}${status.stale ? ' (stale)' : ''}`;
}

function stateText(row: PackageRow): string {
  if (row.hold !== null) return holdText(row.hold);
  return pendingNumber(row) === null ? '' : 'pending';
}
