import type { Style } from '../cli/output/colour.ts';
import { printable } from '../cli/output/printable.ts';
import type { TextLook } from '../cli/output/text-look.ts';
import { wrap } from '../cli/output/wrap.ts';

/** One event as a person reads it: a headline, and below it what belongs to it, line by line. */
export interface ScreenLine {
  readonly text: string;
  /** What colours the headline. */
  readonly tone?: Style | undefined;
}

const timeWidth = '00:00:00  '.length;
const detailIndent = ' '.repeat(timeWidth + 2);

/** The event with its time; on a terminal no line is wider than it, and what belongs to a headline stands below it. */
export function formatEvent({ text, tone }: ScreenLine, at: Date, { width, paint }: TextLook): string {
  const [headline = '', ...details] = text.split('\n').map((line) => printable(line.trim()));
  const room = width === null ? Number.POSITIVE_INFINITY : Math.max(30, width - detailIndent.length);
  const [first = '', ...more] = wrap(headline, room);
  const colour = (line: string) => (tone === undefined ? line : paint(tone, line));
  return [
    `${paint('quiet', at.toTimeString().slice(0, 8))}  ${colour(first)}`,
    ...more.map((line) => ' '.repeat(timeWidth) + colour(line)),
    ...details.flatMap((detail) => wrap(detail, room).map((line) => detailIndent + line)),
  ].join('\n');
}
