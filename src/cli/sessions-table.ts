import type { Cli } from './cli.ts';
import type { Style } from './output/colour.ts';
import { printTable } from './output/print-table.ts';
import { formatTime, type Column } from './output/table.ts';
import type { SessionRow } from './rows.ts';

/** Prints the sessions of browsers, and the links that wait to be used; nothing where there are none. */
export function printSessions(cli: Cli, sessions: readonly SessionRow[]): void {
  if (sessions.length === 0) return;
  cli.print('', 'Browsers that signed in, and links that "login" made:');
  printTable(cli, columnsAt(cli.deps.clock()), sessions);
}

/** Field by field, so that a field added to the row never shows up here by itself. */
export function sessionJson(session: SessionRow) {
  return {
    sessionId: session.sessionId,
    name: session.name,
    scopes: session.scopes,
    agents: session.agents,
    environments: session.environments,
    createdAt: session.createdAt.toISOString(),
    signedInAt: session.signedInAt?.toISOString() ?? null,
    expiresAt: (session.expiresAt ?? session.codeExpiresAt).toISOString(),
    revokedAt: session.revokedAt?.toISOString() ?? null,
    lastUsedAt: session.lastUsedAt?.toISOString() ?? null,
  };
}

function columnsAt(now: Date): readonly Column<SessionRow>[] {
  const stateOf = (session: SessionRow) => stateAt(session, now);
  return [
    { heading: 'SESSION', show: (session) => session.sessionId },
    { heading: 'NAME', least: 8, show: (session) => session.name ?? '-' },
    { heading: 'STATE', show: stateOf, style: (session) => stateStyles[stateOf(session)] },
    { heading: 'SCOPES', least: 14, show: (session) => session.scopes.join(' ') },
    { heading: 'AGENTS', least: 8, spare: 2, show: (session) => session.agents?.join(' ') ?? 'all' },
    {
      heading: 'ENVIRONMENTS',
      least: 12,
      spare: 3,
      show: (session) => session.environments?.join(' ') ?? 'all',
    },
    { heading: 'CREATED', spare: 5, show: (session) => formatTime(session.createdAt) },
    {
      heading: 'EXPIRES',
      spare: 1,
      show: ({ expiresAt, codeExpiresAt }) => formatTime(expiresAt ?? codeExpiresAt),
    },
    { heading: 'LAST USED', spare: 4, show: (session) => formatTime(session.lastUsedAt) },
  ];
}

/** `link`: it waits to be used. */
type SessionState = 'link' | 'live' | 'expired' | 'ended';

const stateStyles: Readonly<Record<SessionState, Style>> = {
  link: 'waiting',
  live: 'good',
  expired: 'waiting',
  ended: 'bad',
};

function stateAt({ revokedAt, signedInAt, expiresAt, codeExpiresAt }: SessionRow, now: Date): SessionState {
  if (revokedAt !== null) return 'ended';
  if ((expiresAt ?? codeExpiresAt) <= now) return 'expired';
  return signedInAt === null ? 'link' : 'live';
}
