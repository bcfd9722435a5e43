import type { Style } from '../cli/output/colour.ts';

/** A line of a part's log as a person reads it: the message of a structured one, every other as it is. */
export function plainLine(line: string): string {
  return structured(line)?.message ?? line;
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

function structured(line: string): { readonly message: string; readonly level?: unknown } | null {
  try {
    const parsed = JSON.parse(line) as { message?: unknown; level?: unknown } | null;
    return typeof parsed?.message === 'string' ? { message: parsed.message, level: parsed.level } : null;
  } catch {
    return null; // It is no JSON.
  }
}
