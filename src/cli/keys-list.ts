import type { Command } from 'commander';
import { isExpired, readKeys } from '../operations/manage-keys.ts';
import { readSessions } from '../operations/sign-in.ts';
import type { Cli } from './cli.ts';
import { addCommand, jsonOption, type JsonOption } from './options.ts';
import type { Style } from './output/colour.ts';
import { printTable } from './output/print-table.ts';
import { formatTime, type Column } from './output/table.ts';
import type { KeyRow } from './rows.ts';
import { printSessions, sessionJson } from './sessions-table.ts';
import { withCall } from './with-call.ts';

/** `keys list`: every key ever made, and browsers that signed in; never a secret. */
export function addKeysList(keys: Command, cli: Cli): void {
  addCommand(keys, {
    use: 'list',
    about: 'list every key, newest first',
    example: ['keys list', 'keys list --json'],
  })
    .addOption(jsonOption())
    .action((options: JsonOption) => listKeys(cli, options));
}

async function listKeys(cli: Cli, options: JsonOption): Promise<void> {
  const { keys, sessions } = await withCall(cli, async (call) => ({
    keys: await readKeys(call),
    sessions: await readSessions(call),
  }));
  if (options.json) return cli.printJson({ keys: keys.map(keyJson), sessions: sessions.map(sessionJson) });
  if (keys.length === 0) cli.print('There is no key yet.');
  else printTable(cli, columnsAt(cli.deps.clock()), keys);
  printSessions(cli, sessions);
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
    { heading: 'NAME', least: 8, show: (key) => key.name ?? '-' },
    { heading: 'STATE', show: (key) => stateOf(key, now), style: (key) => stateStyles[stateOf(key, now)] },
    { heading: 'SCOPES', least: 14, show: (key) => key.scopes.join(' ') },
    { heading: 'AGENTS', least: 8, spare: 2, show: (key) => key.agents?.join(' ') ?? 'all' },
    { heading: 'ENVIRONMENTS', least: 12, spare: 3, show: (key) => key.environments?.join(' ') ?? 'all' },
    { heading: 'CREATED', spare: 5, show: (key) => formatTime(key.createdAt) },
    { heading: 'EXPIRES', spare: 1, show: (key) => formatTime(key.expiresAt) },
    { heading: 'LAST USED', spare: 4, show: (key) => formatTime(key.lastUsedAt) },
  ];
}

type KeyState = 'live' | 'expired' | 'revoked';

const stateStyles: Readonly<Record<KeyState, Style>> = { live: 'good', expired: 'waiting', revoked: 'bad' };

function stateOf(key: KeyRow, now: Date): KeyState {
  if (key.revokedAt !== null) return 'revoked';
  return isExpired(key, now) ? 'expired' : 'live';
}
