import { createHmac } from 'node:crypto';
import { request as requestClear, type ClientRequest, type IncomingMessage } from 'node:http';
import { request as requestSecret } from 'node:https';
import { Webhook } from 'standardwebhooks';
import { parseRetryAfter, type NoticeAnswer, type NoticeReceiver } from '../core/notice-delivery.ts';
import { whyUnreachable } from './why-unreachable.ts';

export interface WebhookOptions {
  /** http or https; path, query and credentials are secrets and never leave it. */
  readonly url: string;
  /** The bytes that notices are signed with. */
  readonly secret: Uint8Array;
  /** Names the program to the receiver. */
  readonly userAgent: string;
  readonly clock: () => Date;
  /** Milliseconds for everything: name, connection, TLS, answer. */
  readonly deadlineMs?: number;
}

const usualDeadlineMs = 10_000;

/** Bytes of an answer's body that are let through, so that a polite receiver can end it; none is looked at. */
const maxBodyBytes = 16_384;

/**
 * Sends notices to one address, signed in two ways: as Standard Webhooks say (`webhook-id`, `-timestamp`, `-signature`) and
 * with `x-hub-signature-256`, which receivers of GitHub's webhooks know. Every attempt has a connection of its own,
 * follows no redirect and ends by its deadline.
 */
export function openWebhookReceiver(options: WebhookOptions): NoticeReceiver {
  const url = new URL(options.url);
  const signer = new Webhook(options.secret, { format: 'raw' });
  return {
    host: url.host,
    send: async ({ id, body }, signal) => {
      const now = options.clock();
      const headers = {
        'content-type': 'application/json',
        'content-length': String(Buffer.byteLength(body)),
        'user-agent': options.userAgent,
        'webhook-id': id,
        'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
        'webhook-signature': signer.sign(id, now, body),
        'x-hub-signature-256': `sha256=${createHmac('sha256', options.secret).update(body).digest('hex')}`,
      };
      const deadlineMs = options.deadlineMs ?? usualDeadlineMs;
      const deadline = AbortSignal.timeout(deadlineMs);
      try {
        const answer = await post(url, { headers, body, signal: AbortSignal.any([signal, deadline]) });
        return toAnswer(answer, now);
      } catch (error) {
        if (signal.aborted) return { kind: 'interrupted' };
        return { kind: 'unreachable', why: whyUnreachable(error, deadline.aborted ? deadlineMs : null) };
      }
    },
  };
}

interface Post {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly signal: AbortSignal;
}

/** Resolves with the head of the answer as soon as it is there; rejects where there is none. */
function post(url: URL, { headers, body, signal }: Post): Promise<IncomingMessage> {
  const request = url.protocol === 'https:' ? requestSecret : requestClear;
  return new Promise((resolve, reject) => {
    const asked: ClientRequest = request(url, { method: 'POST', headers, signal, agent: false });
    asked.on('response', (answer) => {
      letEnd(answer);
      resolve(answer);
    });
    asked.on('error', reject);
    asked.end(body);
  });
}

/** Lets a short body come to its end, and cuts off a long one; the deadline ends one that never ends. */
function letEnd(answer: IncomingMessage): void {
  let bytes = 0;
  answer.on('data', (chunk: Uint8Array) => {
    bytes += chunk.length;
    if (bytes > maxBodyBytes) answer.destroy();
  });
  answer.on('error', () => undefined); // The status has been read; how the rest goes is of no matter.
}

function toAnswer({ statusCode = 0, headers }: IncomingMessage, now: Date): NoticeAnswer {
  return {
    kind: 'answered',
    status: statusCode,
    retryAfterSeconds: parseRetryAfter(headers['retry-after'], now),
  };
}
