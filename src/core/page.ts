import { KnowledgeError } from './errors.ts';

/** Rows a list gives where the caller does not say, and at most. */
export const defaultPageSize = 50;
export const maxPageSize = 200;

/** What a caller asks of a list. */
export interface PageRequest {
  readonly first?: number | null | undefined;
  readonly after?: string | null | undefined;
}

/** One page of a list that runs from the highest position down. */
export interface Page<Row> {
  readonly rows: readonly Row[];
  readonly hasNextPage: boolean;
  readonly hasPreviousPage: boolean;
  /** The opaque cursor of a row of this list. */
  cursorOf(row: Row): string;
}

/** How many rows to fetch and below which position; `list` names the list, so that no other list's cursor is taken. */
export function parsePageRequest(
  request: PageRequest,
  list: string,
): { size: number; before: number | null } {
  const size = request.first ?? defaultPageSize;
  if (!Number.isInteger(size) || size < 1 || size > maxPageSize) {
    throw new KnowledgeError('BAD_USER_INPUT', `first must be from 1 to ${maxPageSize}; found ${size}.`);
  }
  return { size, before: typeof request.after === 'string' ? parseCursor(request.after, list) : null };
}

/**
 * The positions of a page, and one more where there is one, in a list whose positions run from `newest` down to 1 without a
 * gap, as version numbers do (K-061): the page is known before anything is read.
 */
export function gaplessPositions(
  newest: number,
  { size, before }: { readonly size: number; readonly before: number | null },
): number[] {
  const top = Math.min(newest, before === null ? newest : before - 1);
  return Array.from({ length: Math.max(0, Math.min(size + 1, top)) }, (_, index) => top - index);
}

/** Makes a page of `size` out of up to `size + 1` fetched rows. */
export function toPage<Row>(
  fetched: readonly Row[],
  request: { readonly size: number; readonly before: number | null },
  list: { readonly name: string; readonly positionOf: (row: Row) => number },
): Page<Row> {
  return {
    rows: fetched.slice(0, request.size),
    hasNextPage: fetched.length > request.size,
    hasPreviousPage: request.before !== null,
    cursorOf: (row) => encode(`${list.name}\n${list.positionOf(row)}`),
  };
}

function parseCursor(cursor: string, list: string): number {
  const [name, position, ...rest] = decode(cursor).split('\n');
  const number = Number(position);
  if (name === list && rest.length === 0 && /^[0-9]{1,15}$/.test(position ?? '')) return number;
  throw new KnowledgeError(
    'BAD_USER_INPUT',
    'after must be a cursor that this list has given, with the same arguments; found another text.',
  );
}

function encode(text: string): string {
  return btoa(String.fromCodePoint(...new TextEncoder().encode(text)))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
}

function decode(cursor: string): string {
  try {
    const bytes = atob(cursor.replaceAll('-', '+').replaceAll('_', '/'));
    return new TextDecoder().decode(Uint8Array.from(bytes, (character) => character.codePointAt(0) ?? 0));
  } catch {
    return ''; // Not base64: no list has such a cursor, and the caller is told so.
  }
}
