import type { Command } from 'commander';
import type { Cli } from './cli.ts';
import { addKeysCreate } from './keys-create.ts';
import { addKeysList } from './keys-list.ts';
import { addKeysRevoke } from './keys-revoke.ts';

/** `keys`: what programs sign in with. */
export function addKeys(program: Command, cli: Cli): void {
  const keys = program.command('keys').description('the keys that programs sign in with');
  addKeysCreate(keys, cli);
  addKeysList(keys, cli);
  addKeysRevoke(keys, cli);
}
