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
    case 'POST /fake/faults': {
      const read = readFaults(asked.body);
      if (read === null) return { status: 400, body: { error: wrongFaults } };
      for (const fault of read) faults.plant(fault);
      return { status: 204 };
    }
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

const wrongFaults =
  'Expected JSON of one fault, or of a list of them: {"kind":"status","status":503,"match":{"path":"rules.md"},"times":1}.';

function readFaults(body: string): PlainFault[] | null {
  try {
    const faults = [JSON.parse(body) as PlainFault | PlainFault[]].flat();
    const areSound = faults.every(
      ({ kind, match }) => typeof kind === 'string' && ['string', 'undefined'].includes(typeof match?.path),
    );
    return areSound ? faults : null;
  } catch {
    return null;
  }
}
