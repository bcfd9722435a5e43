import type { Logger } from '../core/logger.ts';
import type { Context } from '../operations/context.ts';
import { DriveNoticeInbox, type DriveNotice } from '../operations/receive-drive-notice.ts';
import { allowMethods, type Exchange } from './exchange.ts';
import { parseJson, requireJson } from './json-body.ts';
import { readBody } from './read-body.ts';
import { Refusal } from './refusal.ts';
import { respond } from './respond.ts';

export interface GraphHookOptions {
  readonly context: Context;
  readonly logger: Logger;
  /** Aborted when the server is asked to stop: nothing is asked for any more. */
  readonly stopping: AbortSignal;
}

/** Bytes of a validation token at most (T5). */
const maxTokenBytes = 4096;

/** Milliseconds between two lines about notifications that were ignored. */
const tellEveryMs = 60_000;

/**
 * Answers `POST /hooks/graph`, to which Microsoft Graph sends notifications; false for any other path. No key is asked for,
 * since the service has none: what counts is the secret in each notification, and all it does is to wake a daemon.
 */
export function createGraphHookRoute({
  context,
  logger,
  stopping,
}: GraphHookOptions): (exchange: Exchange) => Promise<boolean> {
  const inbox = new DriveNoticeInbox(context);
  stopping.addEventListener('abort', () => inbox[Symbol.dispose]());
  let toldAt = -Infinity;
  const tellIgnored = () => {
    if (performance.now() - toldAt < tellEveryMs) return;
    const count = inbox.takeIgnored();
    if (count === 0) return;
    toldAt = performance.now();
    logger.warn('Notifications of no subscription of ours were ignored.', { count });
  };
  return async (exchange) => {
    if (exchange.path !== '/hooks/graph') return false;
    allowMethods(exchange, ['POST']);
    const token = new URLSearchParams(exchange.search).get('validationToken');
    if (token !== null) echo(exchange, token);
    else {
      requireJson(exchange.request.headers['content-type']);
      await inbox.receive(parseNotices(await readBody(exchange)));
      tellIgnored();
      respond(exchange, { status: 202, headers: {}, body: '' });
    }
    return true;
  };
}

/** Whoever makes a subscription is to see that this server expects it: the token comes back as it is, and nothing else happens (W2). */
function echo(exchange: Exchange, token: string): void {
  if (token === '' || Buffer.byteLength(token) > maxTokenBytes) {
    throw new Refusal(400, `A validation token has 1 to ${maxTokenBytes} bytes.`);
  }
  respond(exchange, { status: 200, headers: { 'content-type': 'text/plain' }, body: token });
}

function parseNotices(body: string): DriveNotice[] {
  const value = membersOf(parseJson(body, 'The body'))['value'];
  if (!Array.isArray(value)) throw new Refusal(400, 'The body must be a JSON object with the list value.');
  return value.map((entry) => {
    const { subscriptionId, clientState, lifecycleEvent } = membersOf(entry);
    return {
      subscriptionId: textOf(subscriptionId),
      clientState: textOf(clientState),
      lifecycleEvent: textOf(lifecycleEvent),
    };
  });
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
