import { Argument, type Command } from 'commander';
import { counted } from '../core/count.ts';
import { KnowledgeError } from '../core/errors.ts';
import { versionName } from '../core/package.ts';
import type { CallContext } from '../operations/context.ts';
import { readActiveVersion, readContents, readManifests, readVersion } from '../operations/read-knowledge.ts';
import type { Cli } from './cli.ts';
import {
  addCommand,
  environmentOption,
  jsonOption,
  parseVersionArgument,
  type EnvironmentOption,
} from './options.ts';
import { findingLines } from './output/findings.ts';
import { fileJson, versionJson } from './output/knowledge-json.ts';
import { titleOf } from './output/package-line.ts';
import { printable } from './output/printable.ts';
import type { Progress } from './output/progress.ts';
import { printTable } from './output/print-table.ts';
import { formatFields, formatTime, type Column } from './output/table.ts';
import type { TextLook } from './output/text-look.ts';
import type { FileRow, VersionRow } from './rows.ts';
import { withCall } from './with-call.ts';
import { writeVersion } from './write-version.ts';

interface ShowOptions extends EnvironmentOption {
  readonly out?: string;
}

/** `show`: one version, its manifest and, with `--out`, its exact files. */
export function addShow(program: Command, cli: Cli): void {
  addCommand(program, {
    use: 'show <agent>',
    about: 'show a version and its manifest; the active one where none is named',
    example: ['show intake_triage', 'show intake_triage v1 --out ./intake_triage-v1'],
  })
    .addArgument(new Argument('[version]', 'such as v3').argParser<string | undefined>(parseVersionArgument))
    .addOption(environmentOption())
    .option('--out <folder>', 'write the exact files there, with a SHA256SUMS; nothing is overwritten')
    .addOption(jsonOption())
    .action((agentKey: string, knowledgeVersion: string | undefined, options: ShowOptions) =>
      show(cli, { agentKey, knowledgeVersion }, options),
    );
}

interface Named {
  readonly agentKey: string;
  readonly knowledgeVersion: string | undefined;
}

async function show(cli: Cli, named: Named, options: ShowOptions): Promise<void> {
  const { version, files } = await withCall(
    cli,
    async (call) => {
      const version = await findVersion(call, named, options.env);
      const files = await readManifests(call, [version.id]);
      using progress = cli.progress('Writing');
      if (options.out !== undefined) await writeOut(call, options.out, { files, progress });
      return { version, files };
    },
    { environments: [options.env], about: { agentKey: named.agentKey, environment: options.env } },
  );
  if (options.json) return cli.printJson({ ...versionJson(version), files: files.map(fileJson) });
  cli.print(...versionLines(cli.look, version), '');
  printTable(cli, columns, files);
  if (options.out !== undefined) cli.print('', `Written to ${printable(options.out)}, with a SHA256SUMS.`);
}

async function findVersion(
  call: CallContext,
  { agentKey, knowledgeVersion }: Named,
  env: string | undefined,
): Promise<VersionRow> {
  const name = { agentKey, environment: env ?? null };
  return knowledgeVersion === undefined
    ? readActiveVersion(call, name)
    : readVersion(call, { ...name, knowledgeVersion });
}

async function writeOut(
  call: CallContext,
  folder: string,
  { files, progress }: { readonly files: readonly FileRow[]; readonly progress: Progress },
): Promise<void> {
  const contents = await readContents(
    call,
    files.map((file) => file.checksum),
  );
  await writeVersion(
    folder,
    files.map((file) => ({ ...file, content: contentOf(file, contents) })),
    progress,
  );
}

function contentOf(file: FileRow, contents: Awaited<ReturnType<typeof readContents>>): Uint8Array {
  const content = contents.get(file.checksum);
  if (content !== undefined) return content;
  throw new KnowledgeError('INTERNAL', `The database has lost the content ${file.checksum}.`);
}

function versionLines(look: TextLook, version: VersionRow): string[] {
  return [
    `${titleOf(version)} ${versionName(version.number)}, ${version.isActive ? look.paint('good', 'active') : 'not active'}`,
    ...formatFields([
      ['checksum', version.checksum],
      ['label', version.packageVersion],
      ['agent code', version.agentCode],
      ['stage', version.stage],
      ['registry', version.registryVersion],
      ['files', `${version.fileCount}, ${counted(version.totalSizeBytes, 'byte')}`],
      ['source', `${version.sourceType}${version.sourceStale ? ' (stale)' : ''}`],
      ['loaded', `${formatTime(version.loadedAt)} by ${version.loadedBy ?? '-'}`],
    ]),
    ...findingLines({ faults: [], warnings: version.warnings }, look),
  ];
}

const columns: readonly Column<FileRow>[] = [
  { heading: 'ORDER', align: 'right', spare: 1, show: (file) => String(file.loadOrder) },
  { heading: 'REQUIRED', spare: 3, show: (file) => (file.required ? 'yes' : 'no') },
  { heading: 'BYTES', align: 'right', spare: 2, show: (file) => String(file.sizeBytes) },
  { heading: 'CHECKSUM', least: 12, show: (file) => file.checksum },
  { heading: 'PATH', least: 20, cutAt: 'start', show: (file) => file.relativePath },
];
