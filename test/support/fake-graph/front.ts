import { answerBatch } from './batch.ts';
import { answerControl } from './control.ts';
import type { Faults } from './faults.ts';
import type { FakeRequest, ListenerOptions } from './listener.ts';
import { refusal, type Asked, type Reply } from './reply.ts';
import { answerRoute, subjectOf, type Routes } from './routes.ts';
import type { Tokens } from './tokens.ts';

/** What the service and its authority are made of. */
export interface Parts {
  readonly routes: Routes;
  readonly faults: Faults;
  readonly tokens: Tokens;
  readonly requests: readonly FakeRequest[];
  readonly onAnswered: (asked: Asked, status: number) => void;
}

/** The service and its authority, at one address. */
export function front(parts: Parts): Pick<ListenerOptions, 'readAsked' | 'answer'> {
  const { routes, tokens } = parts;
  const toAsked = (request: Pick<Asked, 'method' | 'path' | 'headers' | 'body'>): Asked => {
    if (!request.path.startsWith('/v1.0/'))
      return { ...request, origin: 'authority', batched: false, subject: null };
    // Once for a request and all its steps: what a fault is matched by must be as new as what is answered.
    routes.drive.tree.scan();
    const path = request.path.slice('/v1.0'.length);
    return { ...request, path, origin: 'graph', batched: false, subject: subjectOf(routes, path) };
  };
  return {
    readAsked: toAsked,
    async answer(asked) {
      if (asked.origin === 'graph') return answerGraph(parts, asked);
      // First, or a planted fault could not be taken out any more.
      const control = await answerControl(parts, asked);
      if (control !== null) return control;
      return statusOf(parts, asked) ?? tokens.answer(asked) ?? refusal(404, 'itemNotFound');
    },
  };
}

async function answerGraph(parts: Parts, asked: Asked): Promise<Reply> {
  const { routes, faults, tokens, onAnswered } = parts;
  const planted = statusOf(parts, asked);
  if (planted !== null) return planted;
  const claims = faults.take('claims', asked);
  if (claims !== null)
    return tokens.unauthorized(Buffer.from('{"access_token":{"nbf":{"value":"1"}}}').toString('base64'));
  const refused = tokens.refusalFor(asked);
  if (refused !== null) return refused;
  if (asked.path === '/$batch' && asked.method === 'POST')
    return answerBatch(asked, async (step) => {
      const known = { ...step, subject: subjectOf(routes, step.path) };
      const reply = await answerGraph(parts, known);
      onAnswered(known, reply.status);
      return reply;
    });
  return answerRoute(routes, asked);
}

/** The status that was planted for a request; null where there is none. */
export function statusOf({ faults, routes }: Pick<Parts, 'faults' | 'routes'>, asked: Asked): Reply | null {
  const fault = faults.take('status', asked);
  if (fault === null) return null;
  const {
    status,
    code = codes[status] ?? `status${status}`,
    innerCode,
    headers = {},
    location,
    body,
  } = fault;
  const feed = `${routes.url()}/drives/${routes.drive.driveId}/root/delta`;
  const links: Readonly<Record<string, string>> = { fresh: feed, broken: `${feed}?token=broken` };
  const all = location === undefined ? headers : { ...headers, location: links[location] ?? location };
  if (body !== undefined) return { status, headers: { 'content-type': 'text/html', ...all }, body };
  return refusal(status, code, { headers: all, ...(innerCode !== undefined && { innerCode }) });
}

/** What the real service says with a status. */
const codes: Readonly<Record<number, string>> = {
  400: 'invalidRequest',
  403: 'accessDenied',
  404: 'itemNotFound',
  410: 'resyncRequired',
  423: 'notAllowed',
  429: 'activityLimitReached',
  500: 'generalException',
  503: 'serviceNotAvailable',
};

/** What is remembered of a request. */
export function requestOf(
  { origin, method, path, subject, headers, batched }: Asked,
  status: number,
): FakeRequest {
  const hasAuthorization = headers['authorization'] !== undefined && headers['authorization'] !== '';
  return { at: Date.now(), origin, method, path, subject, headers, hasAuthorization, batched, status };
}

/** Whether a request would have changed the drive. */
export function isWrite({ origin, method, path }: FakeRequest): boolean {
  return origin === 'graph' && method !== 'GET' && path !== '/$batch' && !path.startsWith('/subscriptions');
}
