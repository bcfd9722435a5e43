import type { Command } from 'commander';
import { counted } from '../core/count.ts';
import { KnowledgeError } from '../core/errors.ts';
import { retryNotices } from '../operations/manage-notices.ts';
import type { Cli } from './cli.ts';
import { addCommand, jsonOption, type JsonOption } from './options.ts';
import { withCall } from './with-call.ts';

interface RetryOptions extends JsonOption {
  readonly all?: true;
}

/** `webhook retry`: sends again what was not delivered. */
export function addWebhookRetry(webhook: Command, cli: Cli): void {
  addCommand(webhook, {
    use: 'retry [id]',
    about: 'have a notice that was not delivered sent at once, from its first attempt on, by the daemon',
    example: ['webhook retry --all'],
  })
    .option('--all', 'every dead notice')
    .addOption(jsonOption())
    .action((id: string | undefined, options: RetryOptions) => retry(cli, id, options));
}

async function retry(cli: Cli, id: string | undefined, { all, json }: RetryOptions): Promise<void> {
  if ((id === undefined) === (all === undefined))
    throw new KnowledgeError('BAD_USER_INPUT', 'Expected the id of one notice, or --all.');
  const choice = id === undefined ? ({ allDead: true } as const) : { id };
  const retried = await withCall(cli, (call) => retryNotices(call, choice), {
    next: { NOT_FOUND: 'See "npx agent-knowledge webhook list".' },
  });
  if (json) return cli.printJson({ retried });
  if (retried.length === 0) return cli.print('No notice is dead.');
  cli.print(`${counted(retried.length, 'notice waits', 'notices wait')} to be sent by the daemon.`);
}
