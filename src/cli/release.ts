import type { Command } from 'commander';
import { releasePackage } from '../operations/hold-package.ts';
import type { Cli } from './cli.ts';
import { addCommand, environmentOption, jsonOption, type EnvironmentOption } from './options.ts';
import { printPackage } from './output/package-line.ts';
import { readPackageView } from './read-package-views.ts';
import { withCall } from './with-call.ts';

interface ReleaseOptions extends EnvironmentOption {
  readonly activateNewest?: true;
}

/** `release`: ends a hold. */
export function addRelease(program: Command, cli: Cli): void {
  addCommand(program, {
    use: 'release <agent>',
    about: 'end a hold; the active version stays unless --activate-newest is given',
    example: 'release intake_triage --activate-newest',
  })
    .addOption(environmentOption())
    .option('--activate-newest', 'and activate the newest version')
    .addOption(jsonOption())
    .action((agentKey: string, options: ReleaseOptions) => release(cli, agentKey, options));
}

async function release(cli: Cli, agentKey: string, options: ReleaseOptions): Promise<void> {
  const { env: environment, activateNewest } = options;
  const view = await withCall(
    cli,
    async (call) => {
      const name = await releasePackage(call, { agentKey, environment, activateNewest });
      return readPackageView(call, name);
    },
    { environments: [options.env], about: { agentKey, environment: options.env } },
  );
  printPackage(cli, view, options.json);
}
