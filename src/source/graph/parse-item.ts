import { fieldOf } from './answer.ts';
import type { DriveItem } from './drive-item.ts';
import { GraphError } from './graph-error.ts';

/** An item as an answer has it; whatever is missing is null. Throws `GraphError` `protocol` where it has no id. */
export function parseItem(body: unknown): DriveItem {
  const id = textOf(body, 'id');
  if (id === null) throw new GraphError('protocol', 'An item was expected, and the answer has no id.');
  return {
    id,
    name: textOf(body, 'name'),
    parentId: textOf(fieldOf(body, 'parentReference'), 'id'),
    kind: kindOf(body),
    isRoot: isFacet(body, 'root'),
    deleted: isFacet(body, 'deleted'),
    eTag: textOf(body, 'eTag'),
    cTag: textOf(body, 'cTag'),
    sizeBytes: sizeOf(fieldOf(body, 'size')),
    quickXorHash: textOf(fieldOf(fieldOf(body, 'file'), 'hashes'), 'quickXorHash'),
    modifiedAt: textOf(body, 'lastModifiedDateTime'),
  };
}

/** A text that is there and not empty; null otherwise. */
export function textOf(body: unknown, name: string): string | null {
  const value = fieldOf(body, name);
  return typeof value === 'string' && value !== '' ? value : null;
}

/** Whether an item has a facet: an object, which may be empty. */
export function isFacet(body: unknown, name: string): boolean {
  return typeof fieldOf(body, name) === 'object' && fieldOf(body, name) !== null;
}

/** A notebook has `package` (A11), a shortcut to another drive `remoteItem`; neither has content of its own. */
function kindOf(body: unknown): DriveItem['kind'] {
  if (['package', 'remoteItem'].some((facet) => isFacet(body, facet))) return 'other';
  if (isFacet(body, 'file')) return 'file';
  return isFacet(body, 'folder') || isFacet(body, 'root') ? 'folder' : 'unknown';
}

/** Sizes may be negative or absurd (C11). */
function sizeOf(size: unknown): number | null {
  return typeof size === 'number' && Number.isSafeInteger(size) && size >= 0 ? size : null;
}
