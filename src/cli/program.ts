import { Command } from 'commander';
import { addActivate } from './activate.ts';
import { Cli, type CliDeps } from './cli.ts';
import { addCompletion } from './completion.ts';
import { addDaemon } from './daemon.ts';
import { addDiff } from './diff.ts';
import { addDoctor } from './doctor.ts';
import { addFakeGraph } from './fake-graph.ts';
import { addHold } from './hold.ts';
import { addKeys } from './keys.ts';
import { addLogin } from './login.ts';
import { addMigrate } from './migrate.ts';
import { addHelpEnd, allCommands } from './help.ts';
import { paintColoured } from './output/colour.ts';
import { addPackages } from './packages.ts';
import { addPlan } from './plan.ts';
import { addPromote } from './promote.ts';
import { addRefresh } from './refresh.ts';
import { addRegistry } from './registry.ts';
import { addRelease } from './release.ts';
import { reportError } from './report-error.ts';
import { addServe } from './serve.ts';
import { addShow } from './show.ts';
import { addStart } from './start.ts';
import { addVersions } from './versions.ts';
import { addWebhook } from './webhook.ts';

/** In the order the help lists them. */
const groups: readonly {
  readonly heading: string;
  readonly commands: readonly ((program: Command, cli: Cli) => void)[];
}[] = [
  { heading: 'Run:', commands: [addStart, addServe, addDaemon, addMigrate] },
  { heading: 'Read:', commands: [addPackages, addVersions, addShow, addDiff] },
  { heading: 'Change:', commands: [addRefresh, addActivate, addHold, addRelease, addPromote] },
  { heading: 'Check:', commands: [addPlan, addRegistry, addDoctor, addWebhook] },
  { heading: 'Sign in:', commands: [addLogin, addKeys] },
  { heading: 'More:', commands: [addFakeGraph, addCompletion, addHelpCommand] },
];

/**
 * Runs one command line, program name left out, and answers the exit code: 0 done, 1 it failed, 64 wrong usage, and
 * what `plan` adds. Never throws; results go to stdout, everything else to stderr. With `--json`, stdout holds one
 * document, whatever happens.
 */
export async function runProgram(arguments_: readonly string[], deps: CliDeps): Promise<number> {
  const cli = new Cli(deps, arguments_);
  try {
    await makeProgram(cli).parseAsync(arguments_, { from: 'user' });
    return cli.exitCode;
  } catch (error) {
    return reportError(error, cli);
  }
}

function addHelpCommand(program: Command): void {
  program.helpCommand('help [command]', 'what a command does, what it takes and what it exits with');
}

/** Every command with its options, none of which has run yet. */
export function makeProgram(cli: Cli): Command {
  const { deps } = cli;
  const program = new Command('agent-knowledge')
    .description(
      'Turns a folder of Markdown into immutable, numbered, audited knowledge packages for AI agents.',
    )
    .version(deps.version)
    .option('--no-color', 'print no colours; NO_COLOR=1 in the environment does the same')
    .exitOverride()
    .configureOutput({
      writeOut: deps.stdout,
      writeErr: deps.stderr,
      getOutHelpWidth: () => deps.columns,
      getErrHelpWidth: () => deps.columns,
      getOutHasColors: () => cli.paint === paintColoured,
      getErrHasColors: () => cli.paintNote === paintColoured,
    })
    .configureHelp({ styleTitle: (text) => paintColoured('strong', text) });
  addHelpEnd(program, { examples: ['plan intake_triage', 'packages --help'], exits: [] });
  // Last, since commands take over how their parent writes.
  for (const { heading, commands } of groups) {
    program.commandsGroup(heading);
    for (const add of commands) add(program, cli);
  }
  program.hook('preAction', (_, command) => void (cli.command = command));
  for (const command of allCommands(program)) {
    // Told when the command line has ended, with the usage of that very command.
    command.configureOutput({ outputError: () => void (cli.command = command) });
  }
  return program;
}
