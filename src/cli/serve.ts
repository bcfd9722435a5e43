import type { Command } from 'commander';
import type { Cli } from './cli.ts';
import { addCommand } from './options.ts';

/** `serve`: the API alone, until it is asked to stop. */
export function addServe(program: Command, cli: Cli): void {
  addCommand(program, {
    use: 'serve',
    about: 'run the API alone, against the database of the settings',
    example: 'serve',
  }).action(() => cli.deps.runServe());
}
