import type { Command } from 'commander';
import { proposeRegistry } from '../core/propose-registry.ts';
import type { Cli } from './cli.ts';
import { addCommand, jsonOption, type JsonOption } from './options.ts';
import { checkJson, checkLines, checkSummary } from './output/checks.ts';
import { printable } from './output/printable.ts';

interface DoctorOptions extends JsonOption {
  readonly root?: string;
}

/** `doctor`: what is wrong here, what it means and who can mend it; exits with 1 where there is trouble. */
export function addDoctor(program: Command, cli: Cli): void {
  addCommand(program, {
    use: 'doctor',
    about:
      'check settings, registry, folder, database, daemons and disk, and say who can mend what; changes nothing',
    example: ['doctor', 'doctor --json', 'doctor --root config/sample'],
    exits: ['0 no trouble', '1 trouble', '64 wrong usage'],
  })
    .option(
      '--root <folder>',
      'instead: print a registry for this folder, to be edited; nothing uses it by itself',
    )
    .addOption(jsonOption())
    .action((options: DoctorOptions) =>
      options.root === undefined ? examine(cli, options) : propose(cli, options.root),
    );
}

async function examine(cli: Cli, options: JsonOption): Promise<void> {
  const checks = await cli.deps.diagnose();
  const isOk = checks.every((check) => check.state !== 'trouble');
  if (!isOk) cli.exitCode = 1;
  if (options.json) return cli.printJson({ ok: isOk, checks: checks.map(checkJson) });
  cli.print(...checkLines(checks, cli.deps.columns, cli.paint), checkSummary(checks));
}

async function propose(cli: Cli, folder: string): Promise<void> {
  const { document, leftOut, notes } = proposeRegistry(await cli.deps.surveyFolder(folder));
  cli.note(
    ...leftOut.map(({ path, reason }) => printable(`left out: ${path} ${reason}.`)),
    ...notes.map(printable),
  );
  if (document !== null) return cli.printJson(document);
  cli.exitCode = 1;
  cli.note(printable(`No Markdown file that a registry could list was found in ${folder}.`));
}
