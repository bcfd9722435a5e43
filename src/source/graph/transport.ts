import { randomUUID } from 'node:crypto';
import { Agent as ClearAgent } from 'node:http';
import { Agent as SecretAgent } from 'node:https';
import { exchange, type Exchanged, type ExchangeLimits } from './exchange.ts';
import type { GraphHabits } from './graph-habits.ts';
import type { GraphCloud } from './graph.ts';
import { isNamedHost } from './origins.ts';
import { lookupPublic } from './private-addresses.ts';
import type { Outgoing } from './wire.ts';

/** Connections of one process: to the service with a token, and to hosts of contents without. Both end when it is closed. */
export class Transport implements Disposable {
  readonly #cloud: GraphCloud;
  readonly #habits: GraphHabits;
  readonly #userAgent: string;
  readonly #signal: AbortSignal;
  readonly #clear = new ClearAgent({ keepAlive: true, maxSockets: 16 });
  readonly #secret = new SecretAgent({ keepAlive: true, maxSockets: 16 });

  constructor(cloud: GraphCloud, habits: GraphHabits, userAgent: string, signal: AbortSignal) {
    this.#cloud = cloud;
    this.#habits = habits;
    this.#userAgent = userAgent;
    this.#signal = signal;
  }

  /** To the base itself, whatever a link spelled; the only place a token is sent to. */
  ask({ method, path, headers, body, maxBytes }: Outgoing): Promise<Exchanged> {
    const url = new URL(this.#cloud.baseUrl);
    const own = { accept: 'application/json', ...headers };
    const limits = maxBytes === null ? this.#habits.json : { ...this.#habits.content, maxBytes };
    return this.#send(url, { method, path, headers: own, limits, ...(body === null ? {} : { body }) });
  }

  /** The bytes behind a download address; a token goes along only to the base itself (C5). */
  fetch(url: URL, maxBytes: number, token: string | null): Promise<Exchanged> {
    const limits = { ...this.#habits.content, maxBytes };
    const headers = { accept: '*/*', ...(token === null ? {} : { authorization: `Bearer ${token}` }) };
    return this.#send(url, { method: 'GET', path: `${url.pathname}${url.search}`, headers, limits });
  }

  [Symbol.dispose](): void {
    this.#clear.destroy();
    this.#secret.destroy();
  }

  #send(url: URL, wanted: Sent): Promise<Exchanged> {
    const body = wanted.body;
    return exchange({
      ...wanted,
      url,
      headers: {
        ...wanted.headers,
        'user-agent': this.#userAgent,
        'client-request-id': randomUUID(),
        'accept-encoding': 'identity',
        ...(body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }),
      },
      agent: url.protocol === 'https:' ? this.#secret : this.#clear,
      signal: this.#signal,
      ...(isNamedHost(this.#cloud, url.hostname) ? {} : { lookup: lookupPublic }),
    });
  }
}

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly limits: ExchangeLimits;
}
