import packageJson from '../../package.json' with { type: 'json' };
import { isLoopback } from '../../config/setting-kinds.ts';
import type { Settings } from '../../config/settings.ts';
import type { Logger } from '../core/logger.ts';
import type { NoticeReceiver } from '../core/notice-delivery.ts';
import type { WebhookFacts } from '../operations/diagnose/notices.ts';
import { openWebhookReceiver } from '../webhook/webhook-receiver.ts';

/** Where the settings have signed notices sent; null where nobody is told. */
export function openReceiver({ webhook }: Settings): NoticeReceiver | null {
  if (webhook === null) return null;
  const userAgent = `agent-knowledge/${packageJson.version}`;
  return openWebhookReceiver({ ...webhook, userAgent, clock: () => new Date() });
}

/** What may be shown of where notices go. */
export function webhookFacts({ webhook }: Settings): WebhookFacts | null {
  if (webhook === null) return null;
  const { host, hostname, protocol } = new URL(webhook.url);
  return {
    host,
    isReadableOnTheWay: protocol === 'http:' && !isLoopback(hostname),
    isGuessable: webhook.secret.length < 16,
  };
}

/** Says so at a start where notices can be read on their way. */
export function warnOfClearWebhook(settings: Settings, logger: Logger): void {
  const facts = webhookFacts(settings);
  if (facts?.isReadableOnTheWay !== true) return;
  logger.warn('notices go over http, so others on the way can read them', { host: facts.host });
}
