import { fieldOf } from './answer.ts';
import { GraphError } from './graph-error.ts';
import type { Graph } from './graph.ts';
import { childrenById } from './item-path.ts';
import { isFacet, textOf } from './parse-item.ts';

export interface ListedChild {
  readonly id: string;
  readonly name: string;
  readonly kind: 'folder' | 'other';
}

/** Names looked through in one folder, and pages read for them; what lies beyond goes unnoticed. */
const mostChildren = 10_000;
const mostPages = 60;

/** The children of folders, each listed once in the life of a `FolderListings`: as long as one look. */
export class FolderListings {
  readonly #graph: Pick<Graph, 'call'>;
  readonly #driveId: string;
  readonly #lists = new Map<string, Promise<readonly ListedChild[]>>();

  constructor(graph: Pick<Graph, 'call'>, driveId: string) {
    this.#graph = graph;
    this.#driveId = driveId;
  }

  /** Throws `GraphError` where the folder cannot be listed. */
  list(folderId: string): Promise<readonly ListedChild[]> {
    const known = this.#lists.get(folderId) ?? this.#read(folderId);
    this.#lists.set(folderId, known);
    return known;
  }

  /** An empty page does not end a list (D15), a page that comes again does (D16). */
  async #read(folderId: string): Promise<readonly ListedChild[]> {
    const children: ListedChild[] = [];
    const links = new Set<string>();
    let target: string | null = childrenById(this.#driveId, folderId);
    while (
      target !== null &&
      !links.has(target) &&
      links.size < mostPages &&
      children.length < mostChildren
    ) {
      links.add(target);
      const { body } = await this.#graph.call({ target, units: 2 });
      const value = fieldOf(body, 'value');
      // A failure must not be taken for an empty folder (bug 38).
      if (!Array.isArray(value)) throw new GraphError('protocol', 'A list of children was expected.');
      for (const entry of value as unknown[]) children.push(...readChild(entry));
      target = textOf(body, '@odata.nextLink');
    }
    return children;
  }
}

/** Entries without an id or a name are passed over (D12). */
function readChild(entry: unknown): ListedChild[] {
  const [id, name] = [textOf(entry, 'id'), textOf(entry, 'name')];
  if (id === null || name === null || isFacet(entry, 'deleted')) return [];
  return [{ id, name, kind: isFacet(entry, 'folder') ? 'folder' : 'other' }];
}
