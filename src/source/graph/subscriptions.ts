import type { Graph } from './graph.ts';
import { GraphError } from './graph-error.ts';
import { textOf } from './parse-item.ts';

/** A subscription as the service keeps it. */
export interface Subscription {
  readonly id: string;
  readonly expiresAt: Date;
}

export interface SubscriptionWanted {
  readonly driveId: string;
  /** Where notifications and what is said of the subscription itself are sent: https, reachable from outside. */
  readonly url: string;
  /** The secret that comes back with each notification. */
  readonly clientState: string;
  readonly until: Date;
}

/**
 * Asks to be told of changes in a drive (W1). The service calls the address once before it answers (W2). Throws
 * `GraphError`.
 */
export async function createSubscription(graph: Graph, wanted: SubscriptionWanted): Promise<Subscription> {
  const { driveId, url, clientState, until } = wanted;
  const { body } = await graph.call({
    method: 'POST',
    target: '/subscriptions',
    body: {
      changeType: 'updated',
      notificationUrl: url,
      lifecycleNotificationUrl: url,
      resource: `/drives/${driveId}/root`,
      expirationDateTime: until.toISOString(),
      clientState,
    },
  });
  const id = textOf(body, 'id');
  if (id === null) throw new GraphError('protocol', 'The new subscription has no id.');
  return { id, expiresAt: expiryOf(body, until) };
}

/** Has a subscription live on, which also authorizes it anew (W3). Throws `GraphError`: `missing` where there is none any more. */
export async function renewSubscription(graph: Graph, id: string, until: Date): Promise<Subscription> {
  const { body } = await graph.call({
    method: 'PATCH',
    target: pathOf(id),
    body: { expirationDateTime: until.toISOString() },
  });
  return { id, expiresAt: expiryOf(body, until) };
}

/** Ends a subscription. Throws `GraphError`. */
export async function endSubscription(graph: Graph, id: string): Promise<void> {
  await graph.call({ method: 'DELETE', target: pathOf(id) });
}

function pathOf(id: string): string {
  return `/subscriptions/${encodeURIComponent(id)}`;
}

/** The service may grant less than was asked for. */
function expiryOf(body: unknown, wanted: Date): Date {
  const granted = new Date(textOf(body, 'expirationDateTime') ?? Number.NaN);
  return Number.isNaN(granted.getTime()) ? wanted : granted;
}
