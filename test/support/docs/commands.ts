import { Cli } from '../../../src/cli/cli.ts';
import { allCommands } from '../../../src/cli/help.ts';
import { makeProgram } from '../../../src/cli/program.ts';
import { makeCliDeps } from '../../../src/main/cli-deps.ts';

/** Every command that does something, as it is typed behind the program's name: `plan`, `keys create`. */
export function commandNames(): string[] {
  const nowhere = () => undefined;
  const noSettings = () => {
    throw new Error('Nothing of the program is run.');
  };
  const deps = makeCliDeps(noSettings, {
    stdout: nowhere,
    stderr: nowhere,
    outIsTerminal: false,
    isTerminal: false,
    terminal: null,
    colours: { out: false, err: false },
    columns: 80,
  });
  const commands = allCommands(makeProgram(new Cli(deps, [])));
  return commands.flatMap((command) => {
    const words = [];
    for (let at = command; at.parent; at = at.parent) words.unshift(at.name());
    const isHidden = words.join(' ') === 'complete';
    return command.commands.length > 0 || isHidden ? [] : [words.join(' ')];
  });
}
