import type { Fault, Faults } from './faults.ts';
import type { FakeRequest } from './listener.ts';
import type { Asked, Reply } from './reply.ts';
import type { Routes } from './routes.ts';

/** A fault as it can come over the wire: a pattern is a text, and nothing is called. */
type PlainFault = Exclude<Fault, { kind: 'at_content' }>;

/**
 * Lets whoever has no hold of this process plant faults and read what was asked: `POST` and `DELETE /fake/faults`,
 * `POST /fake/notify` (with `?lifecycle=missed`), `GET /fake/requests`. Null for any other path.
 */
export async function answerControl(
  { faults, routes, requests }: { faults: Faults; routes: Routes; requests: readonly FakeRequest[] },
  asked: Asked,
): Promise<Reply | null> {
  const [path = '', query = ''] = asked.path.split('?', 2);
  switch (`${asked.method} ${path}`) {
    case 'POST /fake/faults':
      for (const fault of readFaults(asked.body)) faults.plant(fault);
      return { status: 204 };
    case 'DELETE /fake/faults':
      faults.clear();
      return { status: 204 };
    case 'POST /fake/notify': {
      const event = new URLSearchParams(query).get('lifecycle');
      const { subscriptions } = routes;
      return {
        status: 200,
        body: await (event === null ? subscriptions.notify() : subscriptions.notifyLifecycle(event)),
      };
    }
    case 'GET /fake/requests':
      return { status: 200, body: requests.map(withoutHeaders) };
    default:
      return null;
  }
}

/** Tokens are nobody's to read. */
function withoutHeaders({ at, origin, method, path, subject, status, batched }: FakeRequest) {
  return { at, origin, method, path, subject, status, batched };
}

function readFaults(body: string): PlainFault[] {
  const read = JSON.parse(body) as PlainFault | PlainFault[];
  return Array.isArray(read) ? read : [read];
}
