import type { Command } from 'commander';
import type { Cli } from './cli.ts';
import { addCommand } from './options.ts';

/** `daemon`: keeps the packages in step with the source, until it is asked to stop. */
export function addDaemon(program: Command, cli: Cli): void {
  addCommand(program, {
    use: 'daemon',
    about: 'run the daemon alone: watch the source and keep the packages in step with it',
    example: 'daemon',
  }).action(() => cli.deps.runDaemon());
}
