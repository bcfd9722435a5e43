import { createScanner, type JSONScanner } from 'jsonc-parser';
import { quote } from '../quote.ts';
import { note, type RegistryNotes, showPath } from './notes.ts';

/** A scanner on its current token, and the path of the value that token belongs to. */
export interface Reading {
  readonly text: string;
  readonly scanner: JSONScanner;
  /** Pushed and popped by whoever reads the values. */
  readonly path: (string | number)[];
  readonly notes: RegistryNotes;
}

/** A reading on the first token. */
export function startReading(text: string, notes: RegistryNotes): Reading {
  const reading: Reading = { text, scanner: createScanner(text), path: [], notes };
  advance(reading);
  return reading;
}

/** To the next token that is no white space; comments are noted as faults on the way and passed over. */
export function advance(reading: Reading): void {
  do {
    reading.scanner.scan();
    if (isComment(reading)) complain(reading, scanTrouble(reading) ?? 'JSON has no comments');
  } while (isBlank(reading) || isComment(reading));
}

function isBlank(reading: Reading): boolean {
  const first = mark(reading);
  return first === ' ' || first === '\n' || first === '\r' || first === '\t';
}

function isComment(reading: Reading): boolean {
  return mark(reading) === '/' && /^\/[/*]/.test(tokenText(reading));
}

/** The first character of the current token: enough to tell JSON's tokens apart; empty at the end of the file. */
export function mark({ text, scanner }: Reading): string {
  return text.charAt(scanner.getTokenOffset());
}

/** The current token as it is written. */
export function tokenText({ text, scanner }: Reading): string {
  return text.slice(scanner.getTokenOffset(), scanner.getPosition());
}

/** The line the current token starts on, from 1. */
export function lineOf({ scanner }: Reading): number {
  return scanner.getTokenStartLine() + 1;
}

/** The one trouble after which nobody knows what is text and what is JSON. */
export const unclosedText = 'a text is not closed on its line';

/** In the order of the scanner's own numbers; 0 is none. */
const scanTroubles: readonly (string | undefined)[] = [
  undefined,
  'a comment is not closed',
  unclosedText,
  'a number stops short',
  'a \\u escape needs four hexadecimal digits',
  'a text holds an escape that JSON does not have',
  'a text holds a control character that is not escaped',
];

/** What is wrong inside the current token, as half a sentence. */
export function scanTrouble({ scanner }: Reading): string | undefined {
  return scanTroubles[scanner.getTokenError()];
}

/** Notes `registry_bad_json` at the current token, with path, line and column. */
export function complain(reading: Reading, what: string): void {
  const line = lineOf(reading);
  const column = reading.scanner.getTokenStartCharacter() + 1;
  note(reading.notes.faults, () => ({
    code: 'registry_bad_json',
    relativePath: null,
    line,
    message: `${showPath(reading.path)}, line ${line}, column ${column}: ${what}.`,
  }));
}

/** `complain` about a token that is not `what` JSON asks for here; null, for the caller to pass on. */
export function expected(reading: Reading, what: string): null {
  const found = mark(reading) === '' ? 'the end of the file' : quote(tokenText(reading));
  complain(reading, `expected ${what}, found ${found}`);
  return null;
}
