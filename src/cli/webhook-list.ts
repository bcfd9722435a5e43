import type { Command } from 'commander';
import { readNotices } from '../operations/manage-notices.ts';
import type { Cli } from './cli.ts';
import { addCommand, jsonOption, parseCount, type JsonOption } from './options.ts';
import type { Style } from './output/colour.ts';
import { printTable } from './output/print-table.ts';
import { formatTime, type Column } from './output/table.ts';
import type { NoticeRow } from './rows.ts';
import { withCall } from './with-call.ts';

interface ListOptions extends JsonOption {
  readonly dead?: true;
  readonly limit: number;
}

/** `webhook list`: the notices that wait, were delivered or are dead. */
export function addWebhookList(webhook: Command, cli: Cli): void {
  addCommand(webhook, {
    use: 'list',
    about:
      'list notices, newest first; delivered ones are kept for 30 days, dead ones until they are retried',
    example: ['webhook list', 'webhook list --dead --json'],
  })
    .option('--dead', 'only those that are tried no more')
    .option('--limit <count>', 'how many at most', parseCount, 50)
    .addOption(jsonOption())
    .action((options: ListOptions) => listThem(cli, options));
}

async function listThem(cli: Cli, { dead, limit, json }: ListOptions): Promise<void> {
  const notices = await withCall(cli, (call) => readNotices(call, { onlyDead: dead === true, limit }));
  if (json) return cli.printJson({ notices: notices.map(noticeJson) });
  if (notices.length === 0) return cli.print(dead ? 'No notice is dead.' : 'There is no notice.');
  printTable(cli, columns, notices);
}

/** Field by field, so that a field added to the row never shows up here by itself. */
function noticeJson(notice: NoticeRow) {
  return {
    id: notice.id,
    type: notice.type,
    agentKey: notice.agentKey,
    environment: notice.environment,
    sequence: notice.sequence,
    state: notice.state.toLowerCase(),
    attempts: notice.attempts,
    dueAt: notice.state === 'WAITING' ? notice.dueAt.toISOString() : null,
    host: notice.host,
    lastError: notice.lastError,
    createdAt: notice.createdAt.toISOString(),
    finishedAt: notice.finishedAt?.toISOString() ?? null,
  };
}

const styles: Readonly<Record<NoticeRow['state'], Style>> = {
  WAITING: 'waiting',
  DELIVERED: 'good',
  DEAD: 'bad',
};

const columns: readonly Column<NoticeRow>[] = [
  { heading: 'NOTICE', show: ({ id }) => id },
  { heading: 'TYPE', spare: 2, show: ({ type }) => type },
  { heading: 'AGENT', least: 8, spare: 1, show: ({ agentKey }) => agentKey ?? '-' },
  { heading: 'ENVIRONMENT', spare: 5, show: ({ environment }) => environment ?? '-' },
  {
    heading: 'STATE',
    show: ({ state }) => state.toLowerCase(),
    style: ({ state }) => styles[state],
  },
  { heading: 'ATTEMPTS', align: 'right', spare: 3, show: ({ attempts }) => String(attempts) },
  { heading: 'MADE', spare: 4, show: ({ createdAt }) => formatTime(createdAt) },
  { heading: 'LAST ERROR', least: 12, show: ({ lastError }) => lastError ?? '' },
];
