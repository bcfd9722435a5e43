import { Argument, type Command } from 'commander';
import type { Cli } from './cli.ts';
import { completionScript, shells } from './completion/completion-script.ts';
import { readNames } from './completion/read-names.ts';
import { suggest } from './completion/suggest.ts';
import { addCommand } from './options.ts';

/**
 * `completion`: the script by which a shell completes `agent-knowledge`, which must be on its PATH; and `complete`, what
 * that script asks at each press of the key.
 */
export function addCompletion(program: Command, cli: Cli): void {
  addCommand(program, {
    use: 'completion',
    about: 'print the script by which a shell completes commands, options, agents and environments',
    example: ['completion bash', 'completion zsh', 'completion fish', 'completion powershell'],
  })
    .addArgument(new Argument('<shell>', 'which shell').choices(shells))
    .addHelpText('after', installation)
    .action((shell: string) => cli.print(...completionScript(program.name(), shell)));
  program
    .command('complete', { hidden: true })
    .argument('[words...]', 'the words of the command line so far')
    .action(async (words: readonly string[]) =>
      cli.print(...suggest(program, words, await readNames(cli.deps))),
    );
}

const installation = `
In a clone, "npm link" puts agent-knowledge on the PATH. Then
  bash   source <(agent-knowledge completion bash), in ~/.bashrc
  zsh    source <(agent-knowledge completion zsh), in ~/.zshrc after compinit
  fish   agent-knowledge completion fish > ~/.config/fish/completions/agent-knowledge.fish`;
