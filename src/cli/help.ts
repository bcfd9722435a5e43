import type { Command } from 'commander';

/** What stands below the help of a command. */
export interface HelpEnd {
  /** Command lines without the program's name; each works as pasted where the sample is loaded. */
  readonly examples: readonly string[];
  /** What its exit codes say beyond the usual. */
  readonly exits: readonly string[];
}

const usualExits = ['0 done', '1 it failed', '64 wrong usage'];

const helpEnds = new WeakMap<Command, HelpEnd>();

/** Ends the help of a command with its examples and its exit codes. */
export function addHelpEnd(command: Command, end: HelpEnd): void {
  helpEnds.set(command, end);
  const { examples } = end;
  const exits = end.exits.length === 0 ? usualExits : end.exits;
  command.addHelpText(
    'after',
    [
      '',
      examples.length === 1 ? 'Example:' : 'Examples:',
      ...examples.map((example) => `  $ npx agent-knowledge ${example}`),
      '',
      `Exit codes: ${exits.join(', ')}.`,
    ].join('\n'),
  );
}

/** The examples in the help of a command. */
export function examplesOf(command: Command): readonly string[] {
  return helpEnds.get(command)?.examples ?? [];
}

/** A command and everything below it. */
export function allCommands(command: Command): readonly Command[] {
  return [command, ...command.commands.flatMap(allCommands)];
}
