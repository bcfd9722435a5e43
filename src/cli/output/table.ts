import type { Style } from './colour.ts';
import { fitColumns, shorten } from './fit.ts';
import { displayWidth, printable } from './printable.ts';
import { plainLook, type TextLook } from './text-look.ts';

/** One column of a table: its heading, what it shows of a row, and how it bears a narrow terminal. */
export interface Column<Row> {
  readonly heading: string;
  readonly align?: 'right';
  readonly show: (row: Row) => string;
  /** What colours a cell. */
  readonly style?: (row: Row) => Style | null;
  /** The width to which its cells may be cut, at least its heading's; left out: they are never cut. */
  readonly least?: number;
  /** Where its cells lose what is too long; a path tells most at its end. */
  readonly cutAt?: 'start';
  /** Left out of a line that is too long, the highest first; left out: always shown. */
  readonly spare?: number;
}

/** The rows as aligned lines below their headings, and the headings of columns that there was no room for. */
export interface Table {
  readonly lines: readonly string[];
  readonly leftOut: readonly string[];
}

const gap = '  ';

/** The rows as aligned lines below their headings, two spaces between columns and none at the end of a line. */
export function formatTable<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string[] {
  return [...layTable(columns, rows, plainLook).lines];
}

/** A table that fits its place: longer cells are cut and spare columns left out, as their columns bear it. */
export function layTable<Row>(columns: readonly Column<Row>[], rows: readonly Row[], look: TextLook): Table {
  const texts = rows.map((row) => columns.map((column) => printable(column.show(row))));
  const widths = widthsOf(columns, texts, look.width);
  const lineOf = (cells: readonly Cell[]) =>
    cells
      .flatMap((cell, index) => layCell(cell, widths[index] ?? null, columns[index]))
      .map(({ style, text, before, after }) => before + (style ? look.paint(style, text) : text) + after)
      .join(gap)
      .trimEnd();
  const headings = columns.map(({ heading }) => ({ text: heading, style: 'quiet' as const }));
  const bodies = rows.map((row, index) =>
    columns.map((column, at) => ({ text: texts[index]?.[at] ?? '', style: column.style?.(row) ?? null })),
  );
  return {
    lines: [headings, ...bodies].map(lineOf),
    leftOut: columns.filter((_, index) => widths[index] === null).map(({ heading }) => heading),
  };
}

/** Names and values below each other, the values aligned. */
export function formatFields(fields: readonly (readonly [name: string, value: string])[]): string[] {
  const width = Math.max(...fields.map(([name]) => displayWidth(name)));
  return fields.map(([name, value]) => `  ${name}${blanks(name, width)}  ${printable(value)}`);
}

/** A moment as a person reads it: UTC, to the second. */
export function formatTime(time: Date | null): string {
  return time === null ? '-' : `${time.toISOString().slice(0, 19).replace('T', ' ')}Z`;
}

interface Cell {
  readonly text: string;
  readonly style: Style | null;
}

function widthsOf<Row>(
  columns: readonly Column<Row>[],
  texts: readonly (readonly string[])[],
  total: number | null,
): readonly (number | null)[] {
  const rooms = columns.map(({ heading, least, spare }, index) => ({
    width: Math.max(displayWidth(heading), ...texts.map((cells) => displayWidth(cells[index] ?? ''))),
    least: least === undefined ? null : Math.max(least, displayWidth(heading)),
    spare: spare ?? null,
  }));
  return total === null ? rooms.map(({ width }) => width) : fitColumns(rooms, total, gap.length);
}

/** Blanks stand beside the painted text, so that colours change no width; nothing for a column that is left out. */
function layCell<Row>(
  { text, style }: Cell,
  width: number | null,
  column: Column<Row> | undefined,
): readonly (Cell & { readonly before: string; readonly after: string })[] {
  if (width === null) return [];
  const cut = shorten(text, width, column?.cutAt);
  const room = blanks(cut, width);
  const [before, after] = column?.align === 'right' ? [room, ''] : ['', room];
  return [{ text: cut, style, before, after }];
}

function blanks(text: string, width: number): string {
  return ' '.repeat(Math.max(0, width - displayWidth(text)));
}
