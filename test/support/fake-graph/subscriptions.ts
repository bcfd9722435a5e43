import { randomUUID } from 'node:crypto';
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { refusal, type Asked, type Reply } from './reply.ts';

interface Subscription {
  readonly id: string;
  readonly resource: string;
  readonly changeType: string;
  readonly notificationUrl: string;
  readonly lifecycleNotificationUrl: string | null;
  readonly clientState: string | null;
  expirationDateTime: string;
}

/** Who is told of changes (W1 to W3). */
export class Subscriptions {
  readonly #tenantId: string;
  readonly #allowsHttp: boolean;
  readonly all = new Map<string, Subscription>();

  constructor(tenantId: string, allowsHttp: boolean) {
    this.#tenantId = tenantId;
    this.#allowsHttp = allowsHttp;
  }

  async answer(asked: Asked): Promise<Reply> {
    const id = asked.path.split('?')[0]?.split('/')[2];
    if (id === undefined)
      return asked.method === 'POST'
        ? this.#create(asked)
        : { status: 200, body: { value: [...this.all.values()] } };
    const held = this.all.get(id);
    if (held === undefined) return refusal(404, 'ResourceNotFound');
    if (asked.method === 'DELETE') this.all.delete(id);
    if (asked.method === 'DELETE') return { status: 204 };
    if (asked.method === 'PATCH')
      held.expirationDateTime = parse(asked.body).expirationDateTime ?? held.expirationDateTime;
    return { status: 200, body: { ...held } };
  }

  /** Tells every subscriber that something has changed; answers with the status of each. */
  async notify(change: Readonly<Record<string, unknown>> = {}): Promise<number[]> {
    return Promise.all(
      [...this.all.values()].map((held) =>
        post(held.notificationUrl, {
          value: [{ ...this.#common(held), changeType: 'updated', resourceData: {}, ...change }],
        }),
      ),
    );
  }

  /** Tells of the life of a subscription: `reauthorizationRequired`, `subscriptionRemoved` or `missed`. */
  async notifyLifecycle(lifecycleEvent: string): Promise<number[]> {
    return Promise.all(
      [...this.all.values()].map((held) =>
        post(held.lifecycleNotificationUrl ?? held.notificationUrl, {
          value: [{ ...this.#common(held), lifecycleEvent }],
        }),
      ),
    );
  }

  async #create(asked: Asked): Promise<Reply> {
    const { notificationUrl = '', resource = '', changeType = '', ...wanted } = parse(asked.body);
    const isSecret = notificationUrl.startsWith('https:') || this.#allowsHttp;
    const endsAt = Date.parse(wanted.expirationDateTime ?? '');
    if (!isSecret || changeType !== 'updated' || !(endsAt > Date.now()))
      return refusal(400, 'InvalidRequest');
    if (endsAt - Date.now() > 42_300 * 60_000) return refusal(400, 'InvalidRequest');
    if (!(await isValidated(notificationUrl))) return refusal(400, 'ValidationError');
    const held: Subscription = {
      id: randomUUID(),
      resource,
      changeType,
      notificationUrl,
      lifecycleNotificationUrl: wanted.lifecycleNotificationUrl ?? null,
      clientState: wanted.clientState ?? null,
      expirationDateTime: new Date(endsAt).toISOString(),
    };
    this.all.set(held.id, held);
    return { status: 201, body: { ...held, clientState: null } };
  }

  #common(held: Subscription) {
    return {
      subscriptionId: held.id,
      subscriptionExpirationDateTime: held.expirationDateTime,
      resource: held.resource,
      clientState: held.clientState,
      tenantId: this.#tenantId,
    };
  }
}

function parse(body: string): Partial<Omit<Subscription, 'id'>> {
  try {
    return JSON.parse(body) as Partial<Subscription>;
  } catch {
    return {};
  }
}

async function isValidated(notificationUrl: string): Promise<boolean> {
  const token = `Validation: ${randomUUID()} <&+%>`;
  const url = new URL(notificationUrl);
  url.searchParams.set('validationToken', token);
  const { status, type, body } = await send(url, '').catch(() => ({ status: 0, type: '', body: '' }));
  return status === 200 && type.startsWith('text/plain') && body === token;
}

async function post(url: string, body: unknown): Promise<number> {
  return (await send(new URL(url), JSON.stringify(body))).status;
}

function send(url: URL, body: string): Promise<{ status: number; type: string; body: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{
    status: number;
    type: string;
    body: string;
  }>();
  // Whoever is told shows a certificate that only the test knows.
  const options = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    rejectUnauthorized: false,
  };
  const request = url.protocol === 'https:' ? requestHttps(url, options) : requestHttp(url, options);
  request.on('error', reject);
  request.setTimeout(10_000, () => request.destroy(new Error('The subscriber did not answer within 10 s.')));
  request.on('response', (response) => {
    let text = '';
    response.setEncoding('utf8');
    response.on('data', (chunk: string) => (text += chunk));
    response.on('error', reject);
    response.on('end', () =>
      resolve({ status: response.statusCode ?? 0, type: response.headers['content-type'] ?? '', body: text }),
    );
  });
  request.end(body);
  return promise;
}
