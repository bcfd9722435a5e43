import type { Command } from 'commander';
import { holdPackage } from '../operations/hold-package.ts';
import type { Cli } from './cli.ts';
import {
  addCommand,
  environmentOption,
  type EnvironmentOption,
  jsonOption,
  parseReasonArgument,
} from './options.ts';
import { printPackage } from './output/package-line.ts';
import { readPackageView } from './read-package-views.ts';
import { withCall } from './with-call.ts';

interface HoldOptions extends EnvironmentOption {
  readonly reason: string;
}

/** `hold`: refreshes go on storing versions and no longer activate them. */
export function addHold(program: Command, cli: Cli): void {
  addCommand(program, {
    use: 'hold <agent>',
    about: 'keep the active version where it is: refreshes store new versions and do not activate them',
    example: 'hold intake_triage --reason "review of the new rules"',
  })
    .addOption(environmentOption())
    .requiredOption('--reason <text>', 'why, 1 to 500 characters', parseReasonArgument)
    .addOption(jsonOption())
    .action((agentKey: string, options: HoldOptions) => hold(cli, agentKey, options));
}

async function hold(cli: Cli, agentKey: string, options: HoldOptions): Promise<void> {
  const view = await withCall(
    cli,
    async (call) => {
      const name = await holdPackage(call, { agentKey, environment: options.env, reason: options.reason });
      return readPackageView(call, name);
    },
    { environments: [options.env], about: { agentKey, environment: options.env } },
  );
  printPackage(cli, view, options.json);
}
