import type { Faults } from './faults.ts';
import type { FakeItem, ItemTree } from './item-tree.ts';
import type { Asked } from './reply.ts';

/** What the JSON of an item needs to know of its drive. */
export interface DriveFacts {
  readonly tree: ItemTree;
  readonly faults: Faults;
  readonly driveId: string;
  readonly driveType: string;
  readonly webUrl: string;
  /** A new download address, good for a short time. */
  readonly downloadUrl: (item: FakeItem) => string;
}

type Json = Record<string, unknown>;

/** An item as a read by path or id answers it. */
export function itemJson(drive: DriveFacts, item: FakeItem, asked: Asked): Json {
  const parent = item.parentId === null ? null : (drive.tree.items.get(item.parentId) ?? null);
  const place = parent && {
    name: parent.name,
    path: `/drives/${drive.driveId}/root:${encodedPath(drive, parent)}`,
  };
  return spoiled(drive, item, {
    asked,
    json: {
      ...(item.kind === 'file' && { '@microsoft.graph.downloadUrl': drive.downloadUrl(item) }),
      ...usualFields(drive, item),
      parentReference: { ...parentOf(drive, item), ...place },
    },
  });
}

/** An item as the feed of changes tells it: without its parent's name and path, and a deletion without its own name (D5, D7). */
export function changeJson(drive: DriveFacts, item: FakeItem, asked: Asked): Json {
  const json = item.deleted
    ? {
        id: item.id,
        ...(item.kind === 'file' && { cTag: `"c:{${guidOf(item)}},4294967295"` }),
        size: 0,
        parentReference: parentOf(drive, item),
        fileSystemInfo: {},
        [item.kind]: {},
        deleted: { state: 'deleted' },
      }
    : { ...usualFields(drive, item), parentReference: parentOf(drive, item) };
  return spoiled(drive, item, { asked, json: { '@odata.type': '#microsoft.graph.driveItem', ...json } });
}

export function eTagOf(item: FakeItem): string {
  return `"{${guidOf(item)}},${item.version}"`;
}

function cTagOf(item: FakeItem): string {
  return `"c:{${guidOf(item)}},${item.contentVersion}"`;
}

function usualFields(drive: DriveFacts, item: FakeItem): Json {
  const times = { createdDateTime: timeOf(item.createdAt), lastModifiedDateTime: timeOf(item.modifiedAt) };
  const by = { user: { email: 'mina@contoso.example', id: '6f1d', displayName: 'Mina Park' } };
  const isRoot = item.parentId === null;
  return {
    id: item.id,
    name: item.name,
    eTag: eTagOf(item),
    ...(item.kind === 'file' && { cTag: cTagOf(item) }),
    size: item.kind === 'file' ? item.sizeBytes : drive.tree.sizeBelow(item),
    ...times,
    webUrl: `${drive.webUrl}${encodedPath(drive, item)}`,
    createdBy: by,
    lastModifiedBy: by,
    fileSystemInfo: times,
    ...(isRoot && { root: {} }),
    ...(item.kind === 'folder'
      ? { folder: { childCount: drive.tree.children(item.id).length } }
      : { file: { mimeType: 'text/markdown', hashes: { quickXorHash: item.hash } } }),
    shared: { scope: 'users' },
  };
}

function parentOf(drive: DriveFacts, item: FakeItem): Json {
  const { driveId, driveType } = drive;
  return { driveType, driveId, ...(item.parentId !== null && { id: item.parentId }) };
}

/** The same JSON with what the planted faults make of it. */
function spoiled(drive: DriveFacts, item: FakeItem, { asked, json }: { asked: Asked; json: Json }): Json {
  const fault = drive.faults.take('item', { ...asked, subject: drive.tree.pathOf(item) });
  if (fault === null) return json;
  const changed: Json = { ...json, ...fault.fields };
  for (const [name, value] of Object.entries(changed)) if (value === null) delete changed[name];
  if (fault.hash !== undefined && item.kind === 'file' && !item.deleted)
    changed['file'] = {
      mimeType: 'text/markdown',
      ...(fault.hash !== null && { hashes: { quickXorHash: fault.hash } }),
    };
  const parent = changed['parentReference'];
  if (fault.driveId !== undefined && typeof parent === 'object')
    changed['parentReference'] = { ...parent, driveId: cased(drive.driveId, fault.driveId) };
  return changed;
}

function cased(text: string, way: 'upper' | 'lower'): string {
  return way === 'upper' ? text.toUpperCase() : text.toLowerCase();
}

function encodedPath(drive: DriveFacts, item: FakeItem): string {
  return drive.tree.pathOf(item).split('/').map(encodeURIComponent).join('/');
}

/** Times of the service have no milliseconds. */
function timeOf(time: Date): string {
  return `${time.toISOString().slice(0, 19)}Z`;
}

function guidOf(item: FakeItem): string {
  return item.id.slice(2).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
