import type { DriveChange } from '../../core/drive-hints.ts';
import { fieldOf } from './answer.ts';
import { GraphError } from './graph-error.ts';
import { isFacet, parseItem, textOf } from './parse-item.ts';

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
  const value = fieldOf(body, 'value');
  if (!Array.isArray(value)) throw noPage('no list of changes');
  const changes = value.map(readChange).filter((change) => change !== null);
  const next = textOf(body, '@odata.nextLink');
  if (next !== null) return { changes, items: value.length, next };
  const delta = textOf(body, '@odata.deltaLink');
  if (delta === null) throw noPage('neither a link to the next page nor one for the next round');
  return { changes, items: value.length, next: null, delta };
}

/** `deleted` is looked at first, and a deletion needs nothing but its id (D7, bug 19); `@removed` means the same (D9). */
function readChange(entry: unknown): DriveChange | null {
  if (textOf(entry, 'id') === null) return null;
  const { id, name, parentId, kind, isRoot, ...item } = parseItem(entry);
  const deleted = item.deleted || isFacet(entry, '@removed');
  return isRoot && !deleted ? null : { id, name, parentId, kind, deleted };
}

function noPage(found: string): GraphError {
  return new GraphError('protocol', `A page of changes was expected, and the answer has ${found}.`);
}
