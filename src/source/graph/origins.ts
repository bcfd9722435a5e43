import { isIP } from 'node:net';
import { isLoopbackName } from './clouds.ts';
import { GraphError } from './graph-error.ts';
import type { GraphCloud } from './graph.ts';
import { isPrivateAddress } from './private-addresses.ts';

type Trusted = Pick<GraphCloud, 'baseUrl' | 'downloadHosts'>;

/**
 * What follows the host when this target is called: a path below `/v1.0`, or that part of a whole link, to the letter (D17).
 * It always goes to the base's own host. Throws `GraphError` `untrusted` where the link leads elsewhere (T6, F66).
 */
export function wirePath(cloud: Trusted, target: string): string {
  const base = new URL(cloud.baseUrl);
  const root = base.pathname.replace(/\/$/, '');
  if (target.startsWith('/')) return makePrintable(`${root}/v1.0${target}`);
  const link = URL.canParse(target) ? new URL(target) : null;
  // A fragment never leaves this computer, and a backslash means different things to different readers.
  const spelled = /^https?:\/\/[^/\\?#\s]+(\/[^\\#]*)/i.exec(target)?.[1];
  if (link === null || spelled === undefined) throw new GraphError('untrusted', 'A page link is no address.');
  const isOwn = isSameOrigin(link, base) && link.username === '' && link.password === '';
  if (!isOwn || !link.pathname.startsWith(`${root}/v1.0/`))
    throw new GraphError(
      'untrusted',
      `A page link must lead to ${cloud.baseUrl}/v1.0/, found one to ${link.host}; nothing was sent there.`,
    );
  return makePrintable(spelled);
}

/** Where a redirect of a download leads. Throws `GraphError` `untrusted` where that is no place for contents (T27, F66). */
export function downloadAddress(cloud: Trusted, location: string, from: string): URL {
  if (!URL.canParse(location, from)) throw new GraphError('untrusted', 'A download address is no address.');
  const url = new URL(location, from);
  const base = new URL(cloud.baseUrl);
  const isSecret = url.protocol === 'https:' || (url.protocol === 'http:' && base.protocol === 'http:');
  const isPlain = url.username === '' && url.password === '';
  if (isSecret && isPlain && isTrustedHost(cloud, url.hostname, base.hostname)) return url;
  throw new GraphError(
    'untrusted',
    `Contents may not come from ${url.protocol}//${url.host}; nothing was sent there. A host that is meant can be allowed by the setting of download hosts.`,
  );
}

/** Whether settings name this very host, so that it may be inside. */
export function isNamedHost(cloud: Trusted, hostname: string): boolean {
  const base = new URL(cloud.baseUrl).hostname;
  return (
    sameHost(hostname, base) ||
    cloud.downloadHosts.some((host) => !host.startsWith('.') && sameHost(hostname, host))
  );
}

/** Whether a token may go there: only ever to the base itself. */
export function isSameOrigin(url: URL, base: URL): boolean {
  return url.protocol === base.protocol && url.port === base.port && sameHost(url.hostname, base.hostname);
}

function isTrustedHost(cloud: Trusted, hostname: string, base: string): boolean {
  if (isNamedHost(cloud, hostname)) return true;
  const literal = hostname.replace(/^\[|\]$/g, '');
  if (isLoopbackName(hostname) || (isIP(literal) !== 0 && isPrivateAddress(literal))) return false;
  return (
    hostname !== base && cloud.downloadHosts.some((host) => host.startsWith('.') && hostname.endsWith(host))
  );
}

/** All spellings of this computer are one host. */
function sameHost(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase() || (isLoopbackName(one) && isLoopbackName(other));
}

/** Node refuses what is not printable; everything else is left as it came. */
function makePrintable(path: string): string {
  return path.toWellFormed().replace(/[^\x21-\x7e]/gu, encodeURIComponent);
}
