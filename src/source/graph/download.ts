import { describeTarget, parseBody, toNetworkTrouble, toTrouble } from './answer.ts';
import { PassingTrouble } from './attempts.ts';
import type { Exchanged } from './exchange.ts';
import { GraphError } from './graph-error.ts';
import type { Downloaded, GraphCloud } from './graph.ts';
import { downloadAddress, isSameOrigin } from './origins.ts';

const mostHops = 5;

/** What one download stands on. */
export interface DownloadWanted {
  readonly cloud: GraphCloud;
  readonly path: string;
  readonly maxBytes: number;
  readonly now: () => number;
  /** Asks the service for the path. */
  readonly ask: () => Promise<Exchanged>;
  /** Fetches from a host of contents, or from the base itself, with its token. */
  readonly fetch: (url: URL, isOwn: boolean) => Promise<Exchanged>;
}

/** Counts of one download: how often the host of contents refused. */
export interface Refusals {
  count: number;
}

/**
 * One try: a new address, fetched at once and never kept (C4, bugs 26, 27). A refusal by the host of contents says that the
 * address is of no use, never that the token is not (C5, C6): it leads to one new address, then it stands.
 */
export async function downloadOnce(wanted: DownloadWanted, refusals: Refusals): Promise<Downloaded> {
  const { path, now } = wanted;
  const where = `GET ${describeTarget(path)}`;
  let from = `${wanted.cloud.baseUrl}/v1.0${path}`;
  let answer = await wanted.ask();
  if (!isRedirect(answer)) return take(answer, where, wanted, now);
  for (let hop = 0; hop < mostHops; hop += 1) {
    const location = answer.headers['location'];
    if (location === undefined) throw new GraphError('protocol', `${where} was redirected to no address.`);
    const url = downloadAddress(wanted.cloud, location, from);
    const isOwn = isSameOrigin(url, new URL(wanted.cloud.baseUrl));
    try {
      answer = await wanted.fetch(url, isOwn);
    } catch (error) {
      throw toNetworkTrouble(`The content of ${where}`, error);
    }
    if (isRedirect(answer)) from = url.href;
    else return takeContent(answer, `The content of ${where}`, wanted, refusals);
  }
  throw new GraphError('untrusted', `${where} was redirected more than ${mostHops} times.`);
}

function takeContent(
  answer: Exchanged,
  where: string,
  wanted: DownloadWanted,
  refusals: Refusals,
): Downloaded {
  if (![401, 403, 404].includes(answer.status)) return take(answer, where, wanted, wanted.now);
  refusals.count += 1;
  const trouble = toTrouble(where, { ...answer, body: null }, wanted.now());
  // Not a matter of the token, whatever the status says.
  const { message, status, codes, requestId } = trouble instanceof PassingTrouble ? trouble.trouble : trouble;
  const kind = answer.status === 404 ? 'missing' : 'forbidden';
  const refusal = new GraphError(kind, message, { status, codes, requestId });
  throw refusals.count > 1 ? refusal : new PassingTrouble(refusal);
}

function take(answer: Exchanged, where: string, { maxBytes }: DownloadWanted, now: () => number): Downloaded {
  const { status, headers, bytes, whole } = answer;
  if (status === 206) {
    const message = `${where} was answered with a part of it (206), though all was asked for.`;
    throw new PassingTrouble(new GraphError('unavailable', message, { status }));
  }
  if (status < 200 || status > 203)
    throw toTrouble(where, { status, headers, body: parseBody(bytes)?.body ?? null }, now());
  const encoding = headers['content-encoding'] ?? 'identity';
  if (encoding !== '' && encoding.toLowerCase() !== 'identity')
    throw new GraphError('protocol', `${where} came encoded, though the plain bytes were asked for.`, {
      status,
    });
  return { bytes: bytes.subarray(0, maxBytes + 1), whole: whole && bytes.length <= maxBytes };
}

function isRedirect({ status }: Exchanged): boolean {
  return [301, 302, 303, 307, 308].includes(status);
}
