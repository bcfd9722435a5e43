import type { Command } from 'commander';
import type { Cli } from './cli.ts';
import { addWebhookList } from './webhook-list.ts';
import { addWebhookRetry } from './webhook-retry.ts';
import { addWebhookTest } from './webhook-test.ts';

/** `webhook`: the signed notices of what happens to knowledge. */
export function addWebhook(program: Command, cli: Cli): void {
  const webhook = program.command('webhook').description('the signed notices of what happens to knowledge');
  addWebhookList(webhook, cli);
  addWebhookRetry(webhook, cli);
  addWebhookTest(webhook, cli);
}
