import { Command } from 'commander';
import { addActivate } from './activate.ts';
import { Cli, type CliDeps } from './cli.ts';
import { addDaemon } from './daemon.ts';
import { addDoctor } from './doctor.ts';
import { addHold } from './hold.ts';
import { addKeys } from './keys.ts';
import { addMigrate } from './migrate.ts';
import { printable } from './output/printable.ts';
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

/** In the order the help lists them. */
const commands = [
  addStart,
  addServe,
  addDaemon,
  addMigrate,
  addPackages,
  addPlan,
  addRefresh,
  addVersions,
  addShow,
  addActivate,
  addHold,
  addRelease,
  addPromote,
  addRegistry,
  addDoctor,
  addKeys,
];

/**
 * Runs one command line, program name left out, and answers the exit code: 0 done, 1 it failed, 64 wrong usage, and
 * what `plan` adds. Never throws; results go to stdout, everything else to stderr.
 */
export async function runProgram(arguments_: readonly string[], deps: CliDeps): Promise<number> {
  const cli = new Cli(deps);
  try {
    await makeProgram(cli).parseAsync(arguments_, { from: 'user' });
    return cli.exitCode;
  } catch (error) {
    return reportError(error, deps);
  }
}

function makeProgram(cli: Cli): Command {
  const { deps } = cli;
  const program = new Command('agent-knowledge')
    .description(
      'Turns a folder of Markdown into immutable, numbered, audited knowledge packages for AI agents.',
    )
    .version(deps.version)
    .exitOverride()
    .configureOutput({
      writeOut: deps.stdout,
      writeErr: deps.stderr,
      outputError: (text, write) => write(`${usageError(text)}\n`),
      getOutHelpWidth: () => deps.columns,
      getErrHelpWidth: () => deps.columns,
    })
    .addHelpText('after', '\nExample:\n  $ npx agent-knowledge plan intake_triage');
  // Last, since commands take over how their parent writes.
  for (const add of commands) add(program, cli);
  return program;
}

/** What commander says of a wrong command line, in one line. */
function usageError(text: string): string {
  const [first = '', ...more] = text.trim().split('\n');
  const message = [first.replace(/^error: /, ''), ...more].map(printable).join(' ');
  return `agent-knowledge: ${message}${/[.?)]$/.test(message) ? '' : '.'} Add --help for the usage.`;
}
