import { SourceError } from '../../core/errors.ts';
import { GraphError, type GraphTrouble } from './graph-error.ts';
import type { GraphPlace } from './graph-place.ts';

/** What an answer said that is worth telling a person, and Microsoft's support. */
export interface Refused {
  readonly status: number | null;
  readonly codes: readonly string[];
  readonly requestId: string | null;
}

/** `status 403, code accessDenied, request 1234`. */
export function describeRefusal({ status, codes, requestId }: Refused): string {
  const parts = [
    status === null ? null : `status ${status}`,
    codes.length === 0 ? null : `code ${codes.join(' > ')}`,
    requestId === null ? null : `request ${requestId}`,
  ];
  return parts.filter((part) => part !== null).join(', ');
}

/** What a person knows the place by. A sharing link is a secret and is not told. */
export function nameOfPlace({ drive, rootPath }: Pick<GraphPlace, 'drive' | 'rootPath'>): string {
  const folder = rootPath === '' ? '' : `, folder ${rootPath}`;
  switch (drive?.kind) {
    case undefined:
      return 'a drive that no setting names';
    case 'id':
      return `drive ${drive.driveId}${folder}`;
    case 'site':
      return `library ${drive.library ?? 'by default'} of ${drive.siteUrl}${folder}`;
    case 'sharing_link':
      return `what a sharing link leads to${folder}`;
    default:
      return drive satisfies never;
  }
}

/** Why a root cannot be read, and what a person can do; never that anything was deleted (T9). */
export function rootTroubleMessage(name: string, refused: Refused): string {
  const said = describeRefusal(refused);
  const begin = `The source in Microsoft 365 (${name}) cannot be read`;
  switch (refused.status) {
    case 403:
      return `${begin}: access is denied (${said}). The application needs Files.Read.All or Sites.Read.All with an administrator's consent, or Sites.Selected with a grant on this site.`;
    case 404:
      return `${begin}: it was not found (${said}). Was the site, the library or the folder renamed, moved or deleted, or has the application lost its grant on the site (Sites.Selected)?`;
    case 423:
      return `${begin}: it is locked (${said}). The site may be archived or locked by an administrator.`;
    default:
      return `${begin}${said === '' ? '' : ` (${said})`}.`;
  }
}

/** Where the answer speaks of the place and not of the service: it is told as a root that cannot be read. */
export function isAboutPlace({ trouble }: GraphError): boolean {
  return placeTroubles.has(trouble);
}

const placeTroubles: ReadonlySet<GraphTrouble> = new Set([
  'setup',
  'forbidden',
  'missing',
  'locked',
  'gone',
  'refused',
]);

/** What a root's sight and a look say of trouble with the place. */
export function placeMessage(name: string, error: GraphError): string {
  return error.status === null ? error.message : rootTroubleMessage(name, error);
}

/** Trouble with the service as the looks know it; anything else is left as it is. */
export function toSourceError(error: unknown): unknown {
  if (!(error instanceof GraphError)) return error;
  return new SourceError(nextOf(error.trouble), withRequest(error), { cause: error });
}

/** A sentence of trouble with what Microsoft's support asks for. */
export function withRequest({ message, requestId }: GraphError): string {
  return requestId === null || message.includes(requestId) ? message : `${message} Request ${requestId}.`;
}

/** The retries have been made already: what outlasts them is waited for. */
function nextOf(trouble: GraphTrouble): SourceError['next'] {
  if (trouble === 'closed') return 'stop';
  return trouble === 'missing' ? 'retry' : 'wait';
}
