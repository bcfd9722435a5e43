import { RootCommand, type Command as Completed, type Complete } from '@bomb.sh/tab';
import type { Argument, Command, Option } from 'commander';
import { scopes } from '../../core/permissions.ts';
import { printedBy } from './printed-by.ts';

/** What names a command line can hold. */
export interface Names {
  readonly agents: readonly string[];
  readonly environments: readonly string[];
}

/**
 * What may follow the words of a command line, as the script of a shell reads it: one suggestion a line, its description
 * after a tab, and a last line for the shell. The last word is what has been typed of the next one, empty after a space.
 */
export function suggest(program: Command, words: readonly string[], names: Names): string[] {
  const root = new RootCommand();
  addOptions(root, program, names);
  for (const { path, command } of commandsBelow(program)) {
    const completed = root.command(path, command.description());
    addOptions(completed, command, names);
    for (const argument of command.registeredArguments) addArgument(completed, argument, names);
  }
  return printedBy(() => root.parse([...words]));
}

function commandsBelow(
  parent: Command,
  before = '',
): readonly { readonly path: string; readonly command: Command }[] {
  return parent
    .createHelp()
    .visibleCommands(parent)
    .flatMap((command) => {
      const path = `${before}${command.name()}`;
      return [{ path, command }, ...commandsBelow(command, `${path} `)];
    });
}

function addOptions(completed: Completed, command: Command, names: Names): void {
  for (const option of command.createHelp().visibleOptions(command)) {
    const name = option.long?.slice(2);
    if (name === undefined) continue;
    const short = option.short?.slice(1);
    if (option.required || option.optional) {
      completed.option(name, option.description, offer(valuesOf(option, names)), short);
    } else {
      completed.option(name, option.description, short);
    }
  }
}

function addArgument(completed: Completed, argument: Argument, names: Names): void {
  const values = argument.argChoices ?? namesOf(argument.name(), names);
  completed.argument(argument.name(), offer(values), argument.variadic);
}

/** What an option takes, by the word that stands for its value in the help. */
function valuesOf(option: Option, names: Names): readonly string[] {
  return option.argChoices ?? namesOf(/<(\w+)/.exec(option.flags)?.[1], names);
}

function namesOf(word: string | undefined, { agents, environments }: Names): readonly string[] {
  switch (word) {
    case 'agent':
      return agents;
    case 'environment':
      return environments;
    case 'scope':
      return scopes;
    default:
      return [];
  }
}

function offer(values: readonly string[]): (complete: Complete) => void {
  return (complete) => {
    for (const value of values) complete(value, '');
  };
}
