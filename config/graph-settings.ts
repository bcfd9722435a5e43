import { z } from 'zod';
import { isLoopback, list, whole } from './setting-kinds.ts';

/** Clouds of Microsoft 365; each has its own addresses (N1). */
export const cloudNames = ['global', 'usgov', 'usgovdod', 'china'] as const;

/** Which drive is meant: by its id, by a site and a library in it, or by a link that somebody shared, which is a secret. */
export type DriveSetting =
  | { readonly kind: 'id'; readonly driveId: string }
  | { readonly kind: 'site'; readonly siteUrl: string; readonly library: string | null }
  | { readonly kind: 'sharing_link'; readonly link: string };

/** Everything that can be set about Microsoft Graph, checked. */
export interface GraphSettings {
  readonly cloud: (typeof cloudNames)[number];
  /** Overrides of what the cloud fixes, without a slash at the end; null where there are none. */
  readonly baseUrl: string | null;
  readonly authority: string | null;
  /** Further hosts that contents may come from, in lower case: names, or endings that begin with a dot. */
  readonly downloadHosts: readonly string[];
  /** A ready token, or whatever `@azure/identity` finds in its own variables. */
  readonly credentials: { readonly kind: 'token'; readonly token: string } | { readonly kind: 'environment' };
  /** Null where none is named: no fault, since the process starts all the same and the source is inert (K-007). */
  readonly drive: DriveSetting | null;
  /** Folder below the drive's root, segments joined by `/`; empty for the root itself. */
  readonly rootPath: string;
  readonly pollSeconds: number;
}

/** What the variables of Microsoft Graph may hold. */
export const graphShape = {
  GRAPH_DRIVE_ID: z
    .string()
    .regex(/^[^\s/\\?#]{1,400}$/, 'the id of a drive, as Microsoft Graph writes it')
    .optional(),
  GRAPH_ROOT: rootPath().default(''),
  GRAPH_SITE_URL: address('https://contoso.sharepoint.com/sites/agents').optional(),
  GRAPH_LIBRARY: z
    .string()
    .regex(/^[^/\\]{1,255}$/, 'the name of a document library, such as Documents')
    .optional(),
  GRAPH_SHARING_LINK: z
    .string()
    .refine((text) => toSafeUrl(text) !== null, 'a sharing link that begins with https://')
    .optional(),
  GRAPH_CLOUD: z.enum(cloudNames, 'global, usgov, usgovdod or china').default('global'),
  GRAPH_BASE_URL: address('https://graph.microsoft.com')
    .refine(
      (text) => !/\/(?:v1\.0|beta)$/i.test(text),
      'the root of Microsoft Graph without /v1.0 at its end',
    )
    .optional(),
  GRAPH_AUTHORITY: address('https://login.microsoftonline.com').optional(),
  GRAPH_TOKEN: z
    .string()
    .regex(/^[\x21-\x7e]+$/, 'an access token, without "Bearer" before it')
    .optional(),
  GRAPH_POLL_SECONDS: whole(1, 86_400, 'seconds').default(30),
  GRAPH_DOWNLOAD_HOSTS: list(
    z.string().regex(downloadHost(), 'host names, or endings like .contoso.com, with commas between them'),
  ).default([]),
};

type GraphValues = z.output<z.ZodObject<typeof graphShape>>;

/** The settings that the checked values make. */
export function toGraphSettings(values: GraphValues): GraphSettings {
  return {
    cloud: values.GRAPH_CLOUD,
    baseUrl: values.GRAPH_BASE_URL ?? null,
    authority: values.GRAPH_AUTHORITY ?? null,
    downloadHosts: values.GRAPH_DOWNLOAD_HOSTS.map((host) => host.toLowerCase()),
    credentials:
      values.GRAPH_TOKEN === undefined
        ? { kind: 'environment' }
        : { kind: 'token', token: values.GRAPH_TOKEN },
    drive: toDrive(values),
    rootPath: values.GRAPH_ROOT,
    pollSeconds: values.GRAPH_POLL_SECONDS,
  };
}

function toDrive(values: GraphValues): DriveSetting | null {
  if (values.GRAPH_DRIVE_ID !== undefined) return { kind: 'id', driveId: values.GRAPH_DRIVE_ID };
  if (values.GRAPH_SITE_URL !== undefined)
    return { kind: 'site', siteUrl: values.GRAPH_SITE_URL, library: values.GRAPH_LIBRARY ?? null };
  if (values.GRAPH_SHARING_LINK !== undefined)
    return { kind: 'sharing_link', link: values.GRAPH_SHARING_LINK };
  return null;
}

/** Each of them names a drive by itself. */
const driveNames = ['GRAPH_DRIVE_ID', 'GRAPH_SITE_URL', 'GRAPH_SHARING_LINK'];

/** Faults that no single variable shows; `given` holds what is set, faulty or not. */
export function findGraphContradictions(
  given: Readonly<Record<string, string | undefined>>,
  prefix: string,
): string[] {
  const isSet = (name: string): boolean => given[name] !== undefined;
  const [first, ...others] = driveNames.filter(isSet);
  const faults = others.map(
    (name) => `${prefix}${name}: names a drive, and so does ${prefix}${first}; accepted is one of them`,
  );
  if (isSet('GRAPH_LIBRARY') && !isSet('GRAPH_SITE_URL'))
    faults.push(`${prefix}GRAPH_LIBRARY: needs ${prefix}GRAPH_SITE_URL beside it`);
  return faults;
}

/** What is set and means nothing with this source. The other settings of watching serve the registry's file, a local one. */
export function idleWith(source: 'local' | 'graph', name: string): boolean {
  return source === 'local' ? name in graphShape : name === 'LOCAL_PATH';
}

/** A folder below the drive's root: slashes at both ends count as none, and nothing leads out of it. */
function rootPath() {
  const message =
    'a folder below the drive such as Agents/Knowledge, without "..", backslashes or empty parts';
  return z.string().transform((text, check): string => {
    const path = text.replace(/^\//, '').replace(/\/$/, '');
    if (path === '' || path.split('/').every(isFolderName)) return path;
    check.addIssue({ code: 'custom', message });
    return z.NEVER;
  });
}

/** What SharePoint keeps as a name (A6); an encoded one stays as it is, since `%` may stand in a name (A4). */
function isFolderName(name: string): boolean {
  if (name === '' || name === '.' || name === '..') return false;
  // oxlint-disable-next-line no-control-regex -- such a name can only be a mistake.
  return !/["*:<>?\\|\u0000-\u001f\u007f]/.test(name);
}

/** An address of a service, without slashes at its end. */
function address(example: string) {
  const message = `an address like ${example}; http only on this machine`;
  return z.string().transform((text, check): string => {
    const url = toSafeUrl(text);
    if (url !== null && url.search === '' && url.hash === '') return url.href.replace(/\/+$/, '');
    check.addIssue({ code: 'custom', message });
    return z.NEVER;
  });
}

/** Nobody reads along on the way to it, and it carries no password. */
function toSafeUrl(text: string): URL | null {
  if (!URL.canParse(text)) return null;
  const url = new URL(text);
  const isLocal = isLoopback(url.hostname) || url.hostname.endsWith('.localhost');
  const isSafe = url.protocol === 'https:' || (url.protocol === 'http:' && isLocal);
  return isSafe && url.username === '' && url.password === '' ? url : null;
}

/** An ending has two parts at least: `.com` would let in half the world. */
function downloadHost(): RegExp {
  const label = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?';
  return new RegExp(`^(?:${label}(?:\\.${label})*|(?:\\.${label}){2,})$`, 'i');
}
