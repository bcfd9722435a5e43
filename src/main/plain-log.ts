import type { Style } from '../cli/output/colour.ts';

/**
 * A line of a part's log as a person reads it: the message of a structured one, and below it what an error says and the
 * request that it belongs to, since nothing else keeps them; every other line as it is.
 */
export function plainLine(line: string): string {
  const found = structured(line);
  if (found === null) return line;
  const { message, error, requestId } = found;
  const [words = ''] = typeof error === 'string' ? error.split('\n') : [];
  const request = typeof requestId === 'string' ? `request ${requestId}` : '';
  return [message, words, request].filter((part) => part !== '').join('\n');
}

/** Whether a line is one of our logs; the last words of a process that ends are none. */
export function isStructured(line: string): boolean {
  return structured(line) !== null;
}

/** What colours a line of a log: trouble does. */
export function toneOf(line: string): Style | undefined {
  return toneOfLevel.get(structured(line)?.level);
}

const toneOfLevel: ReadonlyMap<unknown, Style> = new Map([
  ['error', 'bad'],
  ['warn', 'waiting'],
]);

interface LogLine {
  readonly message: string;
  readonly level?: unknown;
  readonly error?: unknown;
  readonly requestId?: unknown;
}

function structured(line: string): LogLine | null {
  try {
    const parsed = JSON.parse(line) as LogLine | null;
    return typeof parsed?.message === 'string' ? parsed : null;
  } catch {
    return null; // It is no JSON.
  }
}
