import type { Command } from 'commander';
import { isExpired, readKeys } from '../operations/manage-keys.ts';
import type { Cli } from './cli.ts';
import { addCommand, jsonOption, type JsonOption } from './options.ts';
import { formatTable, formatTime, type Column } from './output/table.ts';
import type { KeyRow } from './rows.ts';
import { withCall } from './with-call.ts';

/** `keys list`: every key ever made, never a secret. */
export function addKeysList(keys: Command, cli: Cli): void {
  addCommand(keys, { use: 'list', about: 'list every key, newest first', example: 'keys list --json' })
    .addOption(jsonOption())
    .action((options: JsonOption) => listKeys(cli, options));
}

async function listKeys(cli: Cli, options: JsonOption): Promise<void> {
  const keys = await withCall(cli, readKeys);
  if (options.json) return cli.printJson({ keys: keys.map(keyJson) });
  if (keys.length === 0) return cli.print('There is no key yet.');
  cli.print(...formatTable(columnsAt(cli.deps.clock()), keys));
}

/** Field by field, so that a field added to the row never shows up here by itself. */
function keyJson(key: KeyRow) {
  return {
    keyId: key.keyId,
    name: key.name,
    scopes: key.scopes,
    agents: key.agents,
    environments: key.environments,
    createdAt: key.createdAt.toISOString(),
    expiresAt: key.expiresAt?.toISOString() ?? null,
    revokedAt: key.revokedAt?.toISOString() ?? null,
    lastUsedAt: key.lastUsedAt?.toISOString() ?? null,
  };
}

function columnsAt(now: Date): readonly Column<KeyRow>[] {
  return [
    { heading: 'KEY', show: (key) => key.keyId },
    { heading: 'NAME', show: (key) => key.name ?? '-' },
    { heading: 'STATE', show: (key) => stateOf(key, now) },
    { heading: 'SCOPES', show: (key) => key.scopes.join(' ') },
    { heading: 'AGENTS', show: (key) => key.agents?.join(' ') ?? 'all' },
    { heading: 'ENVIRONMENTS', show: (key) => key.environments?.join(' ') ?? 'all' },
    { heading: 'CREATED', show: (key) => formatTime(key.createdAt) },
    { heading: 'EXPIRES', show: (key) => formatTime(key.expiresAt) },
    { heading: 'LAST USED', show: (key) => formatTime(key.lastUsedAt) },
  ];
}

function stateOf(key: KeyRow, now: Date): string {
  if (key.revokedAt !== null) return 'revoked';
  return isExpired(key, now) ? 'expired' : 'live';
}
