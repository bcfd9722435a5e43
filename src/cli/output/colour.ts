import { styleText } from 'node:util';

/** What a text is, from which its colour follows. */
export type Style = 'good' | 'waiting' | 'bad' | 'quiet' | 'strong' | 'place' | 'added' | 'removed';

const formats = {
  good: 'green',
  waiting: 'yellow',
  bad: 'red',
  quiet: 'dim',
  strong: 'bold',
  place: 'cyan',
  added: 'green',
  removed: 'red',
} as const satisfies Record<Style, Parameters<typeof styleText>[0]>;

/** Paints a printable text, or leaves it as it is. */
export type Paint = (style: Style, text: string) => string;

/** For a stream that takes colours. An empty text stays empty. */
export const paintColoured: Paint = (style, text) =>
  text === '' ? '' : styleText(formats[style], text, { validateStream: false });

/** For a stream that takes none. */
export const paintPlain: Paint = (_, text) => text;

/**
 * Whether a stream takes colours: one that a person watches, unless the environment says otherwise. As in Node.js itself,
 * `FORCE_COLOR` goes before `NO_COLOR`, and both before what the terminal is.
 */
export function takesColour(
  isTerminal: boolean,
  environment: Readonly<Record<string, string | undefined>>,
): boolean {
  const { FORCE_COLOR: forced, NO_COLOR: refused, TERM: terminal } = environment;
  if (forced !== undefined) return !['0', 'false'].includes(forced);
  if (refused !== undefined && refused !== '') return false;
  return isTerminal && terminal !== 'dumb';
}
