import type { Command } from 'commander';
import { withdrawKey } from '../operations/manage-keys.ts';
import type { Cli } from './cli.ts';
import { addCommand, jsonOption, type JsonOption } from './options.ts';
import { printable } from './output/printable.ts';
import { withCall } from './with-call.ts';

/** `keys revoke`: a key that opens nothing from now on. */
export function addKeysRevoke(keys: Command, cli: Cli): void {
  addCommand(keys, {
    use: 'revoke <id>',
    about: 'revoke a key, or end a browser\'s sign-in, at once, by the id that "keys list" shows',
    example: 'keys revoke 3f9a0c77b1d2',
  })
    .addOption(jsonOption())
    .action((keyId: string, options: JsonOption) => revoke(cli, keyId, options));
}

async function revoke(cli: Cli, keyId: string, options: JsonOption): Promise<void> {
  await withCall(cli, (call) => withdrawKey(call, keyId), {
    next: { NOT_FOUND: 'See "npx agent-knowledge keys list".' },
  });
  if (options.json) return cli.printJson({ keyId, revoked: true });
  cli.print(`${printable(keyId)} is revoked.`);
}
