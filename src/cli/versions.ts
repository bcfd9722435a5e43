import type { Command } from 'commander';
import type { CallContext } from '../operations/context.ts';
import { readHistory, readPackage } from '../operations/read-knowledge.ts';
import { maxPageSize } from '../core/page.ts';
import { versionName } from '../core/package.ts';
import type { Cli } from './cli.ts';
import { addCommand, environmentOption, jsonOption, parseCount, type EnvironmentOption } from './options.ts';
import type { Style } from './output/colour.ts';
import { versionJson } from './output/knowledge-json.ts';
import { titleOf } from './output/package-line.ts';
import { printTable } from './output/print-table.ts';
import { formatTime, type Column } from './output/table.ts';
import type { PackageName, VersionRow } from './rows.ts';
import { withCall } from './with-call.ts';

interface VersionsOptions extends EnvironmentOption {
  readonly limit: number;
}

/** `versions`: the history of a package, newest first. */
export function addVersions(program: Command, cli: Cli): void {
  addCommand(program, {
    use: 'versions <agent>',
    about: 'list the versions of a package, newest first',
    example: ['versions intake_triage', 'versions intake_triage --limit 10 --json'],
  })
    .addOption(environmentOption())
    .option('--limit <count>', 'how many at most', parseCount, 50)
    .addOption(jsonOption())
    .action((agentKey: string, options: VersionsOptions) => listVersions(cli, agentKey, options));
}

async function listVersions(cli: Cli, agentKey: string, options: VersionsOptions): Promise<void> {
  const { name, versions, totalCount } = await withCall(
    cli,
    async (call) => {
      const name = await readPackage(call, agentKey, options.env);
      return {
        name,
        versions: await readNewest(call, name, options.limit),
        totalCount: name.nextNumber - 1,
      };
    },
    { environments: [options.env], about: { agentKey, environment: options.env } },
  );
  const { environment } = name;
  if (options.json) {
    return cli.printJson({ agentKey, environment, totalCount, versions: versions.map(versionJson) });
  }
  if (totalCount === 0) return cli.print(`${titleOf(name)} has no version yet.`);
  printTable(cli, columns, versions);
  const older = totalCount - versions.length;
  if (older > 0) cli.note(`${older} older ones are not shown; --limit ${totalCount} shows all.`);
}

async function readNewest(call: CallContext, name: PackageName, limit: number): Promise<VersionRow[]> {
  const versions: VersionRow[] = [];
  for (let after: string | null = null; ;) {
    const page = await readHistory(call, name, {
      first: Math.min(maxPageSize, limit - versions.length),
      after,
    });
    versions.push(...page.rows);
    const last = page.rows.at(-1);
    if (last === undefined || !page.hasNextPage || versions.length >= limit) return versions;
    after = page.cursorOf(last);
  }
}

const columns: readonly Column<VersionRow>[] = [
  { heading: 'VERSION', show: (version) => versionName(version.number), style: activeStyle },
  { heading: 'ACTIVE', show: (version) => (version.isActive ? '*' : ''), style: activeStyle },
  { heading: 'LABEL', least: 8, show: (version) => version.packageVersion },
  { heading: 'FILES', align: 'right', spare: 4, show: (version) => String(version.fileCount) },
  { heading: 'BYTES', align: 'right', spare: 5, show: (version) => String(version.totalSizeBytes) },
  { heading: 'CHECKSUM', spare: 3, show: (version) => version.checksum.slice(0, 12) },
  { heading: 'LOADED', spare: 1, show: (version) => formatTime(version.loadedAt) },
  { heading: 'BY', least: 8, spare: 2, show: (version) => version.loadedBy ?? '-' },
  {
    heading: 'WARNINGS',
    align: 'right',
    spare: 6,
    show: (version) => String(version.warnings.length),
    style: (version) => (version.warnings.length > 0 ? 'waiting' : null),
  },
];

function activeStyle(version: VersionRow): Style | null {
  return version.isActive ? 'good' : null;
}
