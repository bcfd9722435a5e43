import type { Page } from '../src/core/page.ts';
import { builder } from './builder.ts';

/** One page of a list, and how many rows the whole list has, counted when somebody asks. */
export interface Connection<Row> {
  readonly page: Page<Row>;
  readonly count: () => Promise<Count>;
}

export interface Count {
  readonly count: number;
  readonly isExact: boolean;
}

interface Edge<Row> {
  readonly row: Row;
  readonly page: Page<Row>;
}

type NodeRef<Row> = ReturnType<ReturnType<typeof builder.objectRef<Row>>['implement']>;

/** Words of one list for its readers. */
interface ConnectionWords<Row> {
  /** `KnowledgeVersion` gives `KnowledgeVersionConnection` and `KnowledgeVersionEdge`. */
  readonly name: string;
  readonly node: NodeRef<Row>;
  /** What the rows are, and in which order: "Versions of a package, newest first". */
  readonly rows: string;
  /** What `totalCount` counts. */
  readonly total: string;
}

/** Counts once, however many fields ask. */
export function connectionOf<Row>(page: Page<Row>, count: () => Promise<Count>): Connection<Row> {
  let counted: Promise<Count> | undefined;
  return { page, count: () => (counted ??= count()) };
}

/** The Relay connection of a type. */
export function declareConnection<Row extends object>(words: ConnectionWords<Row>) {
  const edge = declareEdge(words);
  return builder.objectRef<Connection<Row>>(`${words.name}Connection`).implement({
    description: `A page of a list. ${words.rows}.`,
    fields: (t) => ({
      edges: t.field({
        type: [edge],
        complexity: pageItself,
        description: 'The rows, each with its cursor.',
        resolve: ({ page }) => page.rows.map((row) => ({ row, page })),
      }),
      nodes: t.field({
        type: [words.node],
        complexity: pageItself,
        description: 'The rows alone.',
        resolve: ({ page }) => [...page.rows] as never, // Pothos cannot see through a type parameter.
      }),
      pageInfo: t.field({
        type: PageInfo,
        description: 'Where this page stands in the list.',
        resolve: ({ page }) => page,
      }),
      totalCount: t.int({
        description: words.total,
        resolve: async (connection) => (await connection.count()).count,
      }),
    }),
  });
}

/** The connection around them has multiplied already. */
const pageItself = { field: 1, multiplier: 1 } as const;

function declareEdge<Row extends object>({ name, node, rows }: ConnectionWords<Row>) {
  return builder.objectRef<Edge<Row>>(`${name}Edge`).implement({
    description: `A row of a list with its cursor. ${rows}.`,
    fields: (t) => ({
      cursor: t.string({
        description: 'Where this row stands in the list, for `after`.',
        resolve: ({ row, page }) => page.cursorOf(row),
      }),
      node: t.field({ type: node, description: 'The row.', resolve: ({ row }) => row as never }),
    }),
  });
}

const PageInfo = builder.objectRef<Page<unknown>>('PageInfo').implement({
  description: 'Where a page stands in its list, and how to ask for the next one.',
  fields: (t) => ({
    hasNextPage: t.exposeBoolean('hasNextPage', {
      description: 'Whether there are rows behind this page.',
    }),
    hasPreviousPage: t.exposeBoolean('hasPreviousPage', {
      description: 'Whether this page was asked for with `after`.',
    }),
    startCursor: t.string({
      nullable: true,
      description: 'The cursor of the first row; null on an empty page.',
      resolve: (page) => cursorAt(page, 0),
    }),
    endCursor: t.string({
      nullable: true,
      description: 'The cursor of the last row, for `after`; null on an empty page.',
      resolve: (page) => cursorAt(page, -1),
    }),
  }),
});

function cursorAt(page: Page<unknown>, index: number): string | null {
  const row = page.rows.at(index);
  return row === undefined ? null : page.cursorOf(row);
}
