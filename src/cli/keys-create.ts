import type { Command } from 'commander';
import { scopes } from '../core/permissions.ts';
import { createKey } from '../operations/manage-keys.ts';
import type { Cli } from './cli.ts';
import { addCommand, expiryParser, jsonOption, parseNameArgument, type JsonOption } from './options.ts';
import { withCall } from './with-call.ts';

interface CreateOptions extends JsonOption {
  readonly name: string;
  readonly scope: readonly string[];
  readonly agent?: readonly string[];
  readonly environment?: readonly string[];
  readonly expires?: Date;
}

/** `keys create`: makes a key and prints it, this once. */
export function addKeysCreate(keys: Command, cli: Cli): void {
  addCommand(keys, {
    use: 'create',
    about: 'make a key; it is printed once and can never be shown again',
    example:
      'keys create --name runtime --scope knowledge:read runs:write --environment production --expires 90d',
  })
    .requiredOption('--name <name>', 'who or what will use it', parseNameArgument)
    .requiredOption('--scope <scope...>', `what it may do: ${scopes.join(', ')}`)
    .option('--agent <agent...>', 'for these agents only')
    .option('--environment <environment...>', 'in these environments only')
    .option(
      '--expires <when>',
      'days such as 30d, or a date such as 2027-01-31',
      expiryParser(cli.deps.clock),
    )
    .addOption(jsonOption())
    .action((options: CreateOptions) => create(cli, options));
}

async function create(cli: Cli, options: CreateOptions): Promise<void> {
  const request = {
    name: options.name,
    scopes: options.scope,
    agents: options.agent ?? null,
    environments: options.environment ?? null,
    expiresAt: options.expires ?? null,
  };
  // A key bound to a misspelt environment would open nothing.
  const { key, keyId, scopes } = await withCall(
    cli,
    (call) => createKey(call, request, cli.deps.newKeyMaterial()),
    { environments: options.environment ?? [] },
  );
  const { name, agents, environments } = request;
  const expiresAt = request.expiresAt?.toISOString() ?? null;
  if (options.json) return cli.printJson({ keyId, name, scopes, agents, environments, expiresAt, key });
  // The key alone, so that a script can take it from stdout.
  cli.print(key);
  cli.note(`Key ${keyId} was made. It is stored nowhere: keep it now.`);
}
