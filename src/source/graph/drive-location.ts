import { foldPath } from '../../core/registry/relative-path.ts';
import { fieldOf } from './answer.ts';
import type { DriveItem } from './drive-item.ts';
import { GraphError } from './graph-error.ts';
import type { DriveReference, GraphPlace } from './graph-place.ts';
import type { Graph } from './graph.ts';
import { encodePath, itemById, joinPath, type DriveLocation } from './item-path.ts';
import { parseItem, textOf } from './parse-item.ts';

/** Libraries of one site that are looked through, and folders above a shared one. */
const mostPages = 50;
const mostFolders = 100;

/**
 * Finds the drive that the settings mean: by its id, by a site and a library's name, or by a sharing link (A9). A drive that
 * is named by its id costs no request.
 *
 * Throws `GraphError`: `setup` where no setting names a drive (K-007), and then no request leaves.
 */
export async function locateDrive(
  graph: Pick<Graph, 'call'>,
  { drive, rootPath }: Pick<GraphPlace, 'drive' | 'rootPath'>,
): Promise<DriveLocation> {
  switch (drive?.kind) {
    case undefined:
      throw new GraphError(
        'setup',
        'No drive is named: set AGENT_KNOWLEDGE_GRAPH_DRIVE_ID, AGENT_KNOWLEDGE_GRAPH_SITE_URL or AGENT_KNOWLEDGE_GRAPH_SHARING_LINK.',
      );
    case 'id':
      return { driveId: drive.driveId, rootPath };
    case 'site':
      return { driveId: await findLibrary(graph, drive), rootPath };
    case 'sharing_link': {
      const shared = await findShared(graph, drive.link);
      return { ...shared, rootPath: joinPath(shared.rootPath, rootPath) };
    }
    default:
      return drive satisfies never;
  }
}

async function findLibrary(
  graph: Pick<Graph, 'call'>,
  { siteUrl, library }: Extract<DriveReference, { kind: 'site' }>,
): Promise<string> {
  const url = new URL(siteUrl);
  const path = decodeURIComponent(url.pathname).replace(/^\/+|\/+$/g, '');
  const target = path === '' ? `/sites/${url.hostname}` : `/sites/${url.hostname}:/${encodePath(path)}`;
  const site = await graph.call({ target, units: 1 });
  // Its commas are written as they are everywhere.
  const siteId = encodeURIComponent(idOf(site.body, 'site')).replaceAll('%2C', ',');
  if (library === null) {
    const { body } = await graph.call({ target: `/sites/${siteId}/drive`, units: 1 });
    return idOf(body, 'drive');
  }
  const drives = await listAll(graph, `/sites/${siteId}/drives`);
  const found = drives.find((drive) => textOf(drive, 'name') === library) ?? drives.find(isNamed(library));
  if (found !== undefined) return idOf(found, 'drive');
  throw new GraphError('missing', `The site ${siteUrl} has no library named ${library}.`);
}

/** By its name in any letter case, or by how its address spells it, which differs for `Documents`. */
function isNamed(library: string): (drive: unknown) => boolean {
  const wanted = foldPath(library);
  return (drive) => {
    const spelled = (textOf(drive, 'webUrl') ?? '').replace(/\/+$/, '').replace(/^.*\//, '');
    return [textOf(drive, 'name') ?? '', decode(spelled)].some((name) => foldPath(name) === wanted);
  };
}

/** The link itself is encoded as the service asks for it; it lets in whoever has it, so no error holds it. */
async function findShared(graph: Pick<Graph, 'call'>, link: string): Promise<DriveLocation> {
  const code = Buffer.from(link).toString('base64url');
  const { body } = await graph.call({ target: `/shares/u!${code}/driveItem`, units: 1 });
  const driveId = textOf(fieldOf(body, 'parentReference'), 'driveId');
  if (driveId === null)
    throw new GraphError('protocol', 'The sharing link leads to an item that names no drive.');
  const shared = parseItem(body);
  try {
    return { driveId, rootPath: await pathTo(graph, driveId, shared) };
  } catch (error) {
    // A link may let in to a folder and to nothing above it, or nobody says what is above it: then the folder itself is where paths start.
    const isHidden = error instanceof GraphError && ['forbidden', 'missing'].includes(error.trouble);
    if (!isHidden) throw error;
    return { driveId, rootPath: '', anchorId: shared.id };
  }
}

/** Walked by ids: a path in an answer may be missing, and may be encoded or not (D6). */
async function pathTo(graph: Pick<Graph, 'call'>, driveId: string, shared: DriveItem): Promise<string> {
  const names: string[] = [];
  let item = shared;
  while (!item.isRoot) {
    if (item.parentId === null) throw new GraphError('missing', 'The folder above a shared one is not told.');
    if (item.name === null || names.length >= mostFolders)
      throw new GraphError(
        'protocol',
        'The way from a shared folder to the root of its drive cannot be read.',
      );
    names.unshift(item.name);
    const { body } = await graph.call({ target: itemById(driveId, item.parentId), units: 1 });
    item = parseItem(body);
  }
  return names.join('/');
}

async function listAll(graph: Pick<Graph, 'call'>, first: string): Promise<unknown[]> {
  const found: unknown[] = [];
  let target: string | null = first;
  for (let page = 0; target !== null && page < mostPages; page += 1) {
    const { body } = await graph.call({ target, units: 2 });
    const value = fieldOf(body, 'value');
    if (!Array.isArray(value)) throw new GraphError('protocol', 'A list was expected, and there is none.');
    found.push(...(value as unknown[]));
    target = textOf(body, '@odata.nextLink');
  }
  return found;
}

function idOf(body: unknown, what: string): string {
  const id = textOf(body, 'id');
  if (id === null) throw new GraphError('protocol', `A ${what} was expected, and the answer has no id.`);
  return id;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
