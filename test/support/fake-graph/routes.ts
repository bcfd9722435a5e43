import type { Content } from './content.ts';
import type { Delta } from './delta.ts';
import { itemJson, type DriveFacts } from './item-json.ts';
import type { FakeItem } from './item-tree.ts';
import { decoded, itemNotFound, refusal, type Asked, type Reply } from './reply.ts';
import type { Subscriptions } from './subscriptions.ts';

/** How the drive can be found beside its id. */
export interface PlaceFacts {
  readonly siteHost: string;
  readonly sitePath: string;
  readonly siteId: string;
  readonly libraryName: string;
  readonly sharingLink: string;
  /** Path of the shared folder; empty for the root. */
  readonly sharedPath: string;
}

export interface Routes {
  readonly drive: DriveFacts;
  readonly delta: Delta;
  readonly content: Content;
  readonly subscriptions: Subscriptions;
  readonly place: PlaceFacts;
  readonly pageSize: number;
  /** The address of the service, `/v1.0` included. */
  readonly url: () => string;
}

/** An item of the drive, and what is wanted of it: itself, its children, its content. */
interface ItemRoute {
  readonly item: FakeItem | null;
  readonly wanted: '' | 'children' | 'content';
}

/** Answers one request below `/v1.0` whose token counts. */
export function answerRoute(routes: Routes, asked: Asked): Reply | Promise<Reply> {
  const { drive, subscriptions } = routes;
  const [path = '', query = ''] = asked.path.split('?', 2);
  if (path === '/subscriptions' || path.startsWith('/subscriptions/')) return subscriptions.answer(asked);
  const found = findDrive(routes, path);
  if (found !== null) return found;
  const below = belowDrive(drive.driveId, path);
  if (below === null) return itemNotFound();
  if (asked.method !== 'GET') return refusal(405, 'methodNotAllowed');
  if (below === '') return { status: 200, body: driveJson(routes) };
  const delta = /^\/root\/(?:microsoft\.graph\.)?delta(?:\(token='([^']*)'\))?$/.exec(below);
  if (delta !== null) return routes.delta.answer(delta[1] ?? new URLSearchParams(query).get('token'), asked);
  const route = itemRoute(drive, below);
  return route === null ? refusal(400, 'invalidRequest') : answerItem(routes, route, { asked, query });
}

/** Path of the item that a request below `/v1.0` is about; null where it is about none. */
export function subjectOf({ drive }: Routes, path: string): string | null {
  const below = belowDrive(drive.driveId, path.split('?', 1)[0] ?? '');
  const item = below === null ? null : (itemRoute(drive, below)?.item ?? null);
  return item === null ? null : drive.tree.pathOf(item);
}

function answerItem(
  routes: Routes,
  { item, wanted }: ItemRoute,
  { asked, query }: { readonly asked: Asked; readonly query: string },
): Reply {
  const { drive, content } = routes;
  if (item === null) return itemNotFound();
  switch (wanted) {
    case '':
      return { status: 200, body: itemJson(drive, item, asked) };
    case 'children':
      return item.kind === 'file' ? refusal(400, 'invalidRequest') : children(routes, item, { asked, query });
    case 'content': {
      if (item.kind === 'folder') return refusal(400, 'invalidRequest');
      const redirect = drive.faults.take('redirect', asked);
      return { status: 302, headers: { location: redirect?.to ?? content.urlOf(item) } };
    }
    default:
      return wanted satisfies never;
  }
}

function children(
  { drive, pageSize, url }: Routes,
  folder: FakeItem,
  { asked, query }: { readonly asked: Asked; readonly query: string },
): Reply {
  const first = Number(new URLSearchParams(query).get('$skiptoken') ?? 0);
  const all = drive.tree.children(folder.id);
  const value = all.slice(first, first + pageSize).map((item) => itemJson(drive, item, asked));
  const next = first + pageSize;
  const link = `${url()}/drives/${drive.driveId}/items/${folder.id}/children?$skiptoken=${next}`;
  return { status: 200, body: { ...(next < all.length && { '@odata.nextLink': link }), value } };
}

/** What stands behind the drive's own address, still encoded; null where the address is no drive's. */
function belowDrive(driveId: string, path: string): string | null {
  const [, id, below] = /^\/drives\/([^/]+)(.*)$/.exec(path) ?? [];
  return id !== undefined && decoded(id) === driveId ? (below ?? '') : null;
}

function itemRoute({ tree }: DriveFacts, below: string): ItemRoute | null {
  const [, anchor, rest = ''] = /^(\/root|\/items\/[^/:]+)(?=$|[/:])(.*)$/s.exec(below) ?? [];
  if (anchor === undefined) return null;
  const start =
    anchor === '/root' ? tree.live(tree.rootId) : tree.live(decoded(anchor.slice('/items/'.length)));
  // `:/a/b`, `:/a/b:` and `:/a/b:/children`, or `/children` of the item itself.
  const [, names, wanted] = /^:\/?([^:]*?)(?::(?:\/(\w+))?)?$/.exec(rest) ?? [];
  if (names === undefined) {
    const own = /^(?:\/(children|content))?$/.exec(rest);
    return own === null ? null : { item: start, wanted: wantedOf(own[1]) };
  }
  const segments = names
    .split('/')
    .filter((name) => name !== '')
    .map(decoded);
  return { item: start === null ? null : tree.find(segments, start), wanted: wantedOf(wanted) };
}

function wantedOf(word: string | undefined): ItemRoute['wanted'] {
  return word === 'children' || word === 'content' ? word : '';
}

function driveJson({ drive, place }: Routes): Record<string, unknown> {
  return {
    id: drive.driveId,
    driveType: drive.driveType,
    name: place.libraryName,
    description: '',
    webUrl: drive.webUrl,
    quota: { deleted: 0, remaining: 1, state: 'normal', total: 2, used: 1 },
  };
}

/** Sites, their libraries, and sharing links. */
function findDrive(routes: Routes, path: string): Reply | null {
  const { drive, place } = routes;
  const share = /^\/shares\/u!([\w-]+)\/driveItem$/.exec(path);
  if (share !== null) {
    const link = Buffer.from(share[1] ?? '', 'base64url').toString();
    const item = link === place.sharingLink ? drive.tree.find(namesOf(place.sharedPath)) : null;
    const asked: Asked = {
      origin: 'graph',
      method: 'GET',
      path,
      headers: {},
      body: '',
      batched: false,
      subject: null,
    };
    return item === null ? itemNotFound() : { status: 200, body: itemJson(drive, item, asked) };
  }
  const site = /^\/sites\/([^/]+?)(?::(\/.*?)(?::)?)?(\/drives?)?$/.exec(path);
  if (site === null) return null;
  const [, id = '', sitePath, wanted] = site;
  const isMeant =
    sitePath === undefined
      ? decoded(id) === place.siteId
      : decoded(id) === place.siteHost && decoded(sitePath) === place.sitePath;
  if (!isMeant) return itemNotFound();
  if (wanted === '/drive') return { status: 200, body: driveJson(routes) };
  if (wanted === '/drives') return { status: 200, body: { value: [otherDrive, driveJson(routes)] } };
  return {
    status: 200,
    body: { id: place.siteId, name: 'agents', webUrl: `https://${place.siteHost}${place.sitePath}` },
  };
}

/** A library that nobody means. */
const otherDrive = {
  id: 'b!other',
  driveType: 'documentLibrary',
  name: 'Site Assets',
  webUrl: 'https://other.example',
};

function namesOf(path: string): string[] {
  return path.split('/').filter((name) => name !== '');
}
