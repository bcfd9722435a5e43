import { Argument, type Command } from 'commander';
import { KnowledgeError } from '../core/errors.ts';
import type { CallContext } from '../operations/context.ts';
import { readContents } from '../operations/read-knowledge.ts';
import {
  readVersionDiff,
  writeUnifiedDiffs,
  type FileComparison,
  type VersionDiff,
} from '../operations/read-version-diff.ts';
import type { Cli } from './cli.ts';
import {
  addCommand,
  environmentOption,
  jsonOption,
  parseVersionArgument,
  type EnvironmentOption,
} from './options.ts';
import { paintPlain } from './output/colour.ts';
import { diffJson, patchLines, patchText, summaryLines, type WrittenDiff } from './output/version-diff.ts';
import { withCall } from './with-call.ts';

interface DiffOptions extends EnvironmentOption {
  readonly stat?: true;
}

/**
 * `diff`: what leads from one version to another. For a person every unseen character is made visible; a pipe or a file gets
 * the patch byte for byte, so that `git apply` or `patch -p1` makes the second version's files of the first's.
 */
export function addDiff(program: Command, cli: Cli): void {
  addCommand(program, {
    use: 'diff <agent>',
    about:
      'compare two versions of a package; into a pipe or a file it prints a patch for "git apply" or "patch -p1"',
    example: ['diff intake_triage v1 v2', 'diff intake_triage v1 v2 --stat'],
  })
    .addArgument(new Argument('<v1>', 'the version to start from').argParser<string>(parseVersionArgument))
    .addArgument(
      new Argument('<v2>', 'the version to compare it with').argParser<string>(parseVersionArgument),
    )
    .addOption(environmentOption())
    .option('--stat', 'say which files differ and by how many lines, not how')
    .addOption(jsonOption())
    .action((agentKey: string, from: string, to: string, options: DiffOptions) =>
      diff(cli, { agentKey, from, to }, options),
    );
}

async function diff(
  cli: Cli,
  named: { readonly agentKey: string; readonly from: string; readonly to: string },
  options: DiffOptions,
): Promise<void> {
  const written = await withCall(
    cli,
    async (call) =>
      writeDiff(call, await readVersionDiff(call, { ...named, environment: options.env ?? null })),
    { environments: [options.env], about: { agentKey: named.agentKey, environment: options.env } },
  );
  if (options.json) return cli.printJson(diffJson(written));
  cli.print(...summaryLines(cli.paint, written));
  if (!options.stat) printPatch(cli, written);
}

/** Colours mean that a person reads it in the end, whatever it goes through before. */
function printPatch(cli: Cli, written: WrittenDiff): void {
  if (cli.deps.outIsTerminal || cli.paint !== paintPlain) {
    if (written.files.length > 0) cli.print('', ...patchLines(cli.paint, written));
  } else if (written.files.length + written.diff.renamed.length > 0) {
    cli.print('');
    cli.printExact(patchText(written));
  }
}

async function writeDiff(call: CallContext, diff: VersionDiff): Promise<WrittenDiff> {
  const { from, to, removed, changed, added } = diff;
  const comparisons: FileComparison[] = [
    ...removed.map((before) => ({ before, after: null, from, to })),
    ...changed,
    ...added.map((after) => ({ before: null, after, from, to })),
  ];
  if (comparisons.length === 0) return { diff, files: [] };
  const contents = await readContents(call, comparisons.flatMap(checksumsOf));
  const texts = await writeUnifiedDiffs(comparisons, async ({ checksum }) => {
    const content = contents.get(checksum);
    if (content !== undefined) return content;
    throw new KnowledgeError('INTERNAL', `The database has lost the content ${checksum}.`);
  });
  return {
    diff,
    files: comparisons.map((comparison, index) => ({ ...comparison, unified: texts[index] ?? '' })),
  };
}

function checksumsOf({ before, after }: FileComparison) {
  return [before, after].flatMap((file) => (file === null ? [] : [file.checksum]));
}
