import type { DriveChange } from '../../core/drive-hints.ts';
import { GraphError } from './graph-error.ts';

/** One page of a feed of changes: it names the next page, or it is the last one and names where the next round begins. */
export type ChangePage = {
  readonly changes: readonly DriveChange[];
  /** Entries on the page, those without an id included. */
  readonly items: number;
} & ({ readonly next: string } | { readonly next: null; readonly delta: string });

/**
 * Reads a page as far as hints need it, so that nothing else of it is kept (bug 37). Entries without an id are counted and
 * left out (D12), and so is the drive's root, which comes with every change (D4). Throws `GraphError` of the kind
 * `protocol` where it is no page: an empty list and a failure must not be confused (bug 38).
 */
export function readChangePage(body: unknown): ChangePage {
  const page = asObject(body);
  const value = page?.['value'];
  if (!page || !Array.isArray(value)) throw noPage('no list of changes');
  const changes = value.map(readChange).filter((change) => change !== null);
  const next = asText(page['@odata.nextLink']);
  if (next !== null) return { changes, items: value.length, next };
  const delta = asText(page['@odata.deltaLink']);
  if (delta === null) throw noPage('neither a link to the next page nor one for the next round');
  return { changes, items: value.length, next: null, delta };
}

/** `deleted` is looked at first, and a deletion needs nothing but its id (D7, bug 19); `@removed` means the same (D9). */
function readChange(entry: unknown): DriveChange | null {
  const item = asObject(entry);
  const id = asText(item?.['id']);
  if (!item || id === null) return null;
  const deleted = [item['deleted'], item['@removed']].some((facet) => asObject(facet) !== null);
  if (!deleted && asObject(item['root']) !== null) return null;
  const parentId = asText(asObject(item['parentReference'])?.['id']);
  return { id, name: asText(item['name']), parentId, kind: kindOf(item), deleted };
}

function kindOf(item: Readonly<Record<string, unknown>>): DriveChange['kind'] {
  if (asObject(item['file'])) return 'file';
  if (asObject(item['folder'])) return 'folder';
  return asObject(item['package']) ? 'other' : 'unknown';
}

function noPage(found: string): GraphError {
  return new GraphError('protocol', `A page of changes was expected, and the answer has ${found}.`);
}

function asObject(value: unknown): Readonly<Record<string, unknown>> | null {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
}

function asText(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}
