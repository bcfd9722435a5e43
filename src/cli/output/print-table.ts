import type { Cli } from '../cli.ts';
import { layTable, type Column } from './table.ts';

/** Prints a table as its place takes it: on a terminal in colours and cut to its width, elsewhere whole and plain. */
export function printTable<Row>(cli: Cli, columns: readonly Column<Row>[], rows: readonly Row[]): void {
  const { lines, leftOut } = layTable(columns, rows, cli.look);
  cli.print(...lines);
  if (leftOut.length > 0) cli.note(cli.paintNote('quiet', `Not shown at this width: ${leftOut.join(', ')}.`));
}
