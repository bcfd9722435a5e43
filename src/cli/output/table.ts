import { displayWidth, printable } from './printable.ts';

/** One column of a table: its heading, and what it shows of a row. */
export interface Column<Row> {
  readonly heading: string;
  readonly align?: 'right';
  readonly show: (row: Row) => string;
}

/** The rows as aligned lines below their headings, two spaces between columns and none at the end of a line. */
export function formatTable<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string[] {
  const lines = [
    columns.map((column) => column.heading),
    ...rows.map((row) => columns.map((column) => printable(column.show(row)))),
  ];
  const widths = columns.map((_, index) =>
    Math.max(...lines.map((cells) => displayWidth(cells[index] ?? ''))),
  );
  return lines.map((cells) =>
    cells
      .map((cell, index) => pad(cell, widths[index] ?? 0, columns[index]?.align))
      .join('  ')
      .trimEnd(),
  );
}

/** Names and values below each other, the values aligned. */
export function formatFields(fields: readonly (readonly [name: string, value: string])[]): string[] {
  const width = Math.max(...fields.map(([name]) => displayWidth(name)));
  return fields.map(([name, value]) => `  ${pad(name, width)}  ${printable(value)}`);
}

/** A moment as a person reads it: UTC, to the second. */
export function formatTime(time: Date | null): string {
  return time === null ? '-' : `${time.toISOString().slice(0, 19).replace('T', ' ')}Z`;
}

function pad(text: string, width: number, align?: 'right'): string {
  const blanks = ' '.repeat(Math.max(0, width - displayWidth(text)));
  return align === 'right' ? blanks + text : text + blanks;
}
