import type { Command } from 'commander';
import type { Cli } from './cli.ts';
import { addCommand } from './options.ts';

/** `start`: everything on one machine, until it is asked to stop. */
export function addStart(program: Command, cli: Cli): void {
  addCommand(program, {
    use: 'start',
    about: 'run everything on this machine: the embedded PostgreSQL, the API and the daemon',
    example: 'start',
  }).action(() => cli.deps.runStart());
}
