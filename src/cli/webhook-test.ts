import type { Command } from 'commander';
import { KnowledgeError } from '../core/errors.ts';
import { testReceiver } from '../operations/manage-notices.ts';
import type { Cli } from './cli.ts';
import { addCommand, jsonOption, type JsonOption } from './options.ts';
import { printable } from './output/printable.ts';

/** `webhook test`: one signed notice that says nothing, to see how the receiver answers. */
export function addWebhookTest(webhook: Command, cli: Cli): void {
  addCommand(webhook, {
    use: 'test',
    about: 'send one signed notice of type knowledge.test now and print the answer; needs no database',
    example: 'webhook test',
  })
    .addOption(jsonOption())
    .action((options: JsonOption) => tryIt(cli, options));
}

async function tryIt(cli: Cli, { json }: JsonOption): Promise<void> {
  const { clock, newNoticeId, openReceiver } = cli.deps;
  const receiver = await openReceiver();
  if (receiver === null) {
    throw new KnowledgeError(
      'UNAVAILABLE',
      'No webhook is set: AGENT_KNOWLEDGE_WEBHOOK_URL and AGENT_KNOWLEDGE_WEBHOOK_SECRET say where notices go.',
    );
  }
  const { host, status, isDelivered, words } = await testReceiver(receiver, {
    id: newNoticeId(),
    at: clock(),
  });
  if (!isDelivered) cli.exitCode = 1;
  if (json) return cli.printJson({ host, status, delivered: isDelivered, message: `${host} ${words}` });
  cli.print(printable(`${host} ${words}`));
}
