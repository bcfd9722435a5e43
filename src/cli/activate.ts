import { Argument, type Command } from 'commander';
import { activateVersion } from '../operations/activate-version.ts';
import { commandAbout } from './advice.ts';
import type { Cli } from './cli.ts';
import {
  addCommand,
  environmentOption,
  type EnvironmentOption,
  jsonOption,
  parseReasonArgument,
  parseVersionArgument,
} from './options.ts';
import { printPackage } from './output/package-line.ts';
import { readPackageView } from './read-package-views.ts';
import { withCall } from './with-call.ts';

interface ActivateOptions extends EnvironmentOption {
  readonly hold?: true;
  readonly expected?: string;
  readonly reason?: string;
}

/** `activate`: makes an existing version the active one: a rollback, or the way forward again. */
export function addActivate(program: Command, cli: Cli): void {
  addCommand(program, {
    use: 'activate <agent>',
    about: 'make an existing version the active one; without --hold the next new content is activated again',
    example: [
      'activate intake_triage v1',
      'activate intake_triage v1 --hold --reason "the newer one answers in the wrong language"',
    ],
  })
    .addArgument(new Argument('<version>', 'such as v2').argParser<string>(parseVersionArgument))
    .addOption(environmentOption())
    .option('--hold', 'and hold the package, so that refreshes do not move it')
    .option('--expected <version>', 'refuse unless this version is active now', parseVersionArgument)
    .option('--reason <text>', 'why, kept with the hold', parseReasonArgument)
    .addOption(jsonOption())
    .action((agentKey: string, knowledgeVersion: string, options: ActivateOptions) =>
      activate(cli, { agentKey, knowledgeVersion }, options),
    );
}

async function activate(
  cli: Cli,
  named: { readonly agentKey: string; readonly knowledgeVersion: string },
  options: ActivateOptions,
): Promise<void> {
  const about = { agentKey: named.agentKey, environment: options.env };
  const view = await withCall(
    cli,
    async (call) => {
      const name = await activateVersion(call, {
        ...named,
        environment: options.env,
        expectedActive: options.expected,
        hold: options.hold,
        reason: options.reason,
      });
      return readPackageView(call, name);
    },
    { environments: [options.env], about, next: { CONFLICT: `See "${commandAbout('versions', about)}".` } },
  );
  printPackage(cli, view, options.json);
}
