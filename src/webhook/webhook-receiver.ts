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
      const deadline = new AbortController();
      // One that keeps the process alive, as `AbortSignal.timeout` does not: whoever asked gets an answer.
      const timer = setTimeout(() => deadline.abort(), deadlineMs);
      try {
        const answer = await post(url, { headers, body, signal: AbortSignal.any([signal, deadline.signal]) });
        return toAnswer(answer, now);
      } catch (error) {
        if (signal.aborted) return { kind: 'interrupted' };
        const why = whyUnreachable(error, deadline.signal.aborted ? deadlineMs : null);
        return { kind: 'unreachable', why };
      } finally {
        timer.unref(); // It still ends a body that has no end, and keeps nobody from leaving.
      }
    },
  };
}

interface Post {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly signal: AbortSignal;
}

/**
 * Resolves with the head of the answer as soon as it is there; rejects where there is none, and at the latest when the
 * signal is given, whatever the request does about it.
 */
function post(url: URL, { headers, body, signal }: Post): Promise<IncomingMessage> {
  const request = url.protocol === 'https:' ? requestSecret : requestClear;
  return new Promise((resolve, reject) => {
    const asked: ClientRequest = request(url, { method: 'POST', headers, signal, agent: false });
    asked.on('response', (answer) => {
      letEnd(answer);
      resolve(answer);
    });
    // A 101 nobody asked for: a connection handed over like this sends neither a response nor an error, nor ends itself.
    asked.on('upgrade', (answer, socket) => {
      socket.on('error', () => undefined); // The status has been read; how the rest goes is of no matter.
      socket.destroy();
      resolve(answer);
    });
    asked.on('error', reject);
    asked.on('close', () => reject(new NoAnswer()));
    signal.addEventListener('abort', () => reject(new NoAnswer()), { once: true });
    asked.end(body);
  });
}

/** The connection ended before an answer, and nothing else says so. */
class NoAnswer extends Error {
  readonly code = 'ECONNRESET';
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
