import { checkRelativePath } from './relative-path.ts';
import type { RelativePath } from '../package.ts';
import { refuse, type Spot } from './fields.ts';
import type { JsonNode } from './strict-json.ts';

/** GraphQL's and PostgreSQL's largest integer. */
export const maxLoadOrder = 2_147_483_647;

/** Absent fields are noted by `readFields`, so the readers here pass them over; what is unfit they note themselves. */
type Field = Spot | undefined;

/** `true` or `false`, or null where the value is neither. */
export function readBoolean(spot: Field): boolean | null {
  if (spot === undefined) return null;
  // "false" in quotes would be true to many a reader and switch an agent on.
  if (spot.node.kind === 'boolean') return spot.node.value;
  return refuse(spot, { code: 'bad_type', expected: 'true or false' });
}

/** A label of at most `max` characters, counted as the database counts them, or null; blank only where `min` is 0. */
export function readLabel(spot: Field, { min, max }: { min: 0 | 1; max: number }): string | null {
  if (spot === undefined) return null;
  const expected = `a text of ${min} to ${max} characters in quotes`;
  if (spot.node.kind !== 'text') return refuse(spot, { code: 'bad_type', expected });
  const { value } = spot.node;
  if (min > 0 && value.trim() === '') return refuse(spot, { code: 'missing_field', expected });
  if (lengthUpTo(value, max) > max) return refuse(spot, { code: 'bad_type', expected, because: 'is longer' });
  return holdsUnprintable(value)
    ? refuse(spot, { code: 'bad_type', expected, because: 'holds a character that cannot be shown' })
    : value;
}

/** The database cannot store a zero or half a character, and a log line must stay one line, read in one direction. */
function holdsUnprintable(text: string): boolean {
  return /[\p{Cc}\p{Cs}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u.test(text);
}

/** Code points, looking at no more of the text than the answer needs. */
function lengthUpTo(text: string, max: number): number {
  return Array.from(text.slice(0, 2 * max + 2)).length;
}

/** A whole number from 0 to 2,147,483,647, or null (K-019). */
export function readLoadOrder(spot: Field): number | null {
  if (spot === undefined) return null;
  const loadOrder = toLoadOrder(spot.node);
  if (loadOrder !== null) return loadOrder;
  return refuse(spot, {
    code: 'bad_load_order',
    expected: `a whole number from 0 to ${maxLoadOrder}`,
    ...(spot.node.kind === 'text' && { because: 'is a text' }),
  });
}

/**
 * The number a node stands for exactly, or null. `1.0` and `1e2` are whole numbers to JSON; `1.0000000000000000001` is
 * none, though a double rounds it to one: the source text must be short enough (15 digits) for the double to be exact.
 */
export function toLoadOrder(node: JsonNode): number | null {
  // A minus is a negative number, or an exponent so small that the double is 0.
  if (node.kind !== 'number' || node.source.length > 15 || node.source.includes('-')) return null;
  const value = Number(node.source);
  return Number.isInteger(value) && value <= maxLoadOrder ? value : null;
}

/** A path that passed `checkRelativePath`, or null: the only place where a text becomes a `RelativePath`. */
export function readRelativePath(spot: Field): RelativePath | null {
  if (spot === undefined) return null;
  if (spot.node.kind !== 'text') return refuse(spot, { code: 'bad_type', expected: 'a path in quotes' });
  const fault = checkRelativePath(spot.node.value);
  if (fault === null) return spot.node.value as RelativePath;
  return refuse(spot, { code: fault.code, expected: 'a path below the root', because: fault.reason });
}
