import { displayWidth } from './printable.ts';

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** A printable text in at most `width` columns: what it loses, at its end or at its start, is marked with `…`. */
export function shorten(text: string, width: number, at: 'start' | 'end' = 'end'): string {
  if (displayWidth(text) <= width) return text;
  const letters = [...graphemes.segment(text)].map(({ segment }) => segment);
  if (at === 'start') letters.reverse();
  const kept: string[] = [];
  let room = width - 1;
  for (const letter of letters) {
    room -= displayWidth(letter);
    if (room < 0) break;
    kept.push(letter);
  }
  return at === 'start' ? `…${kept.toReversed().join('')}` : `${kept.join('')}…`;
}

/** What a column of a table takes now, and what it may be cut to or left out for. */
export interface ColumnRoom {
  readonly width: number;
  /** The least it may be cut to; null: never cut. */
  readonly least: number | null;
  /** Left out where nothing else helps, the highest first; null: never. */
  readonly spare: number | null;
}

/**
 * The widths of columns with `gap` blanks between them in a line of `total`; null for one that is left out. First the
 * longest columns that can bear it are cut; where that is not enough, spare ones go. A line of what may be neither cut nor
 * left out stays too long.
 */
export function fitColumns(
  columns: readonly ColumnRoom[],
  total: number,
  gap: number,
): readonly (number | null)[] {
  const widths: (number | null)[] = columns.map(({ width }) => width);
  for (;;) {
    const shown = widths.filter((width) => width !== null);
    const excess = shown.reduce((sum, width) => sum + width, gap * (shown.length - 1)) - total;
    if (excess <= 0) return widths;
    if (slack(columns, widths) >= excess) return cutLongest(columns, widths, excess);
    const spare = mostSpare(columns, widths);
    if (spare === null) return cutLongest(columns, widths, slack(columns, widths));
    widths[spare] = null;
  }
}

type Widths = readonly (number | null)[];

/** How much a column of this width can be cut by. */
function slackOf(column: ColumnRoom | undefined, width: number | null): number {
  const least = column?.least ?? null;
  return width === null || least === null ? 0 : Math.max(0, width - least);
}

function slack(columns: readonly ColumnRoom[], widths: Widths): number {
  return widths.reduce<number>((sum, width, index) => sum + slackOf(columns[index], width), 0);
}

/** Takes `excess` away, column by column from the one that is longest then; there must be so much to take. */
function cutLongest(columns: readonly ColumnRoom[], widths: Widths, excess: number): Widths {
  const cut = [...widths];
  for (let left = excess; left > 0; left -= 1) {
    const open = cut.map((width, index) => (slackOf(columns[index], width) > 0 ? (width ?? 0) : -1));
    const longest = open.indexOf(Math.max(...open));
    cut[longest] = (cut[longest] ?? 0) - 1;
  }
  return cut;
}

function mostSpare(columns: readonly ColumnRoom[], widths: Widths): number | null {
  const spares = columns.map(({ spare }, index) => (widths[index] === null ? -1 : (spare ?? -1)));
  const most = Math.max(...spares);
  return most < 0 ? null : spares.indexOf(most);
}
