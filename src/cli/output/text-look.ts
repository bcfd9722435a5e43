import { paintPlain, type Paint } from './colour.ts';

/** How a text is shown at its place: a terminal has a width and perhaps colours, a pipe neither. */
export interface TextLook {
  /** Columns of the terminal; null: lines are as long as they are. */
  readonly width: number | null;
  readonly paint: Paint;
}

export const plainLook: TextLook = { width: null, paint: paintPlain };

/** How wide a terminal is; one that does not say, or says 0, is taken for a usual one. */
export function columnsOf(stream: { readonly columns?: number }): number {
  return stream.columns || 80;
}
