import { Argument, type Command } from 'commander';
import { promoteVersion } from '../operations/promote-version.ts';
import type { Cli } from './cli.ts';
import {
  addCommand,
  jsonOption,
  type JsonOption,
  parseReasonArgument,
  parseVersionArgument,
} from './options.ts';
import { printRefreshes } from './output/refreshes.ts';
import { withCall } from './with-call.ts';

interface PromoteOptions extends JsonOption {
  readonly from: string;
  readonly to: string;
  readonly hold?: true;
  readonly reason?: string;
}

/** `promote`: the content of one environment's version becomes the next number of another. */
export function addPromote(program: Command, cli: Cli): void {
  addCommand(program, {
    use: 'promote <agent>',
    about: 'store the content of a version as the next version of another environment',
    example: 'promote intake_triage v1 --from production --to staging',
  })
    .addArgument(new Argument('<version>', 'such as v4').argParser<string>(parseVersionArgument))
    .requiredOption('--from <environment>', 'where the version is')
    .requiredOption('--to <environment>', 'where it is to go')
    .option('--hold', 'and hold the target, so that refreshes do not move it')
    .option('--reason <text>', 'why, kept with the hold', parseReasonArgument)
    .addOption(jsonOption())
    .action((agentKey: string, knowledgeVersion: string, options: PromoteOptions) =>
      promote(cli, { agentKey, knowledgeVersion }, options),
    );
}

async function promote(
  cli: Cli,
  named: { readonly agentKey: string; readonly knowledgeVersion: string },
  options: PromoteOptions,
): Promise<void> {
  const { from, to, hold, reason } = options;
  const refresh = await withCall(cli, (call) => promoteVersion(call, { ...named, from, to, hold, reason }), {
    environments: [from, to],
    about: { agentKey: named.agentKey, environment: from },
  });
  printRefreshes(cli, {
    agentKey: named.agentKey,
    environment: to,
    found: { refreshes: [refresh], registryFaults: [] },
    json: options.json ?? false,
  });
}
