import { GraphError } from './graph-error.ts';
import type { CloudName, GraphPlace } from './graph-place.ts';
import type { GraphCloud } from './graph.ts';

type Addresses = Pick<GraphCloud, 'baseUrl' | 'authority' | 'downloadHosts'>;

/** Tokens of one cloud mean nothing in another, so everything comes from one row (N1). */
const clouds: Readonly<Record<CloudName, Addresses>> = {
  global: {
    baseUrl: 'https://graph.microsoft.com',
    authority: 'https://login.microsoftonline.com',
    downloadHosts: [
      '.sharepoint.com',
      '.1drv.com',
      '.svc.ms',
      '.microsoftpersonalcontent.com',
      '.livefilestore.com',
    ],
  },
  usgov: {
    baseUrl: 'https://graph.microsoft.us',
    authority: 'https://login.microsoftonline.us',
    downloadHosts: ['.sharepoint.us'],
  },
  usgovdod: {
    baseUrl: 'https://dod-graph.microsoft.us',
    authority: 'https://login.microsoftonline.us',
    downloadHosts: ['.sharepoint-mil.us'],
  },
  china: {
    baseUrl: 'https://microsoftgraph.chinacloudapi.cn',
    authority: 'https://login.chinacloudapi.cn',
    downloadHosts: ['.sharepoint.cn'],
  },
};

/** The cloud that the settings mean, with their overrides. Throws `GraphError` `setup` where an address cannot be trusted. */
export function resolveCloud(
  place: Pick<GraphPlace, 'cloud' | 'baseUrl' | 'authority' | 'downloadHosts'>,
): GraphCloud {
  const own = clouds[place.cloud];
  const baseUrl = place.baseUrl === null ? own.baseUrl : checkBase(place.baseUrl);
  const hosts = [...own.downloadHosts, ...place.downloadHosts.map((host) => host.toLowerCase())];
  return {
    baseUrl,
    authority: (place.authority ?? own.authority).replace(/\/+$/, ''),
    scope: `${baseUrl}/.default`,
    downloadHosts: place.baseUrl === null ? hosts : [...hosts, new URL(baseUrl).hostname],
  };
}

/** Names of this computer itself, as they stand in an address. */
export function isLoopbackName(hostname: string): boolean {
  return /^(?:localhost|.+\.localhost|127\.0\.0\.1|\[::1\])$/i.test(hostname);
}

function checkBase(text: string): string {
  if (!URL.canParse(text))
    throw new GraphError('setup', 'The base address of Microsoft Graph is no address.');
  const { protocol, hostname, username, password, search, hash } = new URL(text);
  const isSafe = protocol === 'https:' || (protocol === 'http:' && isLoopbackName(hostname));
  if (!isSafe)
    throw new GraphError(
      'setup',
      `The base address of Microsoft Graph must begin with https:// (http:// only on this computer), found host ${hostname}.`,
    );
  if (username + password + search + hash !== '')
    throw new GraphError(
      'setup',
      'The base address of Microsoft Graph must hold no user, query or fragment.',
    );
  return text.replace(/\/+$/, '');
}
