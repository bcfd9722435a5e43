import { PassingTrouble } from './attempts.ts';
import { DeadlineError, type Exchanged } from './exchange.ts';
import { GraphError, type GraphTrouble } from './graph-error.ts';
import { PrivateAddressError } from './private-addresses.ts';
import { readRetryAfter } from './retry-after.ts';

type Headers = Readonly<Record<string, string>>;

/** The codes of an error, the outermost first, at any depth and in both spellings (T7). */
export function readCodes(body: unknown): string[] {
  const codes: string[] = [];
  let level = fieldOf(body, 'error');
  // Deeper than any that was seen; an answer is not trusted to end.
  for (let depth = 0; depth < 16 && level !== null; depth += 1) {
    const code = fieldOf(level, 'code');
    // A code is a word: whatever else stands there is not repeated in an error.
    if (typeof code === 'string' && /^[\w.-]{1,100}$/.test(code)) codes.push(code);
    level = fieldOf(level, 'innerError') ?? fieldOf(level, 'innererror');
  }
  return codes;
}

export function readRequestId(headers: Headers, body: unknown = null): string | null {
  const error = fieldOf(body, 'error');
  const inner = fieldOf(error, 'innerError') ?? fieldOf(error, 'innererror');
  const id = headers['request-id'] ?? fieldOf(inner, 'request-id');
  return typeof id === 'string' && /^[\w.:-]{1,100}$/.test(id) ? id : null;
}

/** Parsed JSON; null where there is none to be read. */
export function parseBody(bytes: Uint8Array): { readonly body: unknown } | null {
  try {
    return { body: JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as unknown };
  } catch {
    return null;
  }
}

/** The address of a call as it may be told: without a query, a token in it, or a sharing link. */
export function describeTarget(target: string): string {
  const path = target.replace(/^https?:\/\/[^/]*/i, '').replace(/[?#].*$/s, '');
  return path
    .replace(/\/shares\/[^/]*/i, '/shares/…')
    .replace(/\bshares\('[^']*'\)/i, "shares('…')")
    .replace(/token=[^)/]*/gi, 'token=…');
}

/** What a refusal by status means. Transient ones come as `PassingTrouble`, the others as `GraphError`; 401 is one of the latter. */
export function toTrouble(
  where: string,
  { status, headers, body }: { readonly status: number; readonly headers: Headers; readonly body: unknown },
  nowMs: number,
): PassingTrouble | GraphError {
  const codes = readCodes(body);
  const requestId = readRequestId(headers, body);
  const named = codes.length === 0 ? '' : ` (${codes.join(', ')})`;
  const message = `${where} was answered with status ${status}${named}.`;
  const passes = mayPass(status);
  const trouble = new GraphError(passes ? 'unavailable' : troubleOf(status), message, {
    status,
    codes,
    requestId,
  });
  return passes ? toPassing(trouble, { status, headers }, nowMs) : trouble;
}

/** Whether what a status says may be over in a moment. */
export function mayPass(status: number): boolean {
  return status === 408 || status === 429 || status >= 500;
}

/** Trouble that may pass, with the wait that the service asks for: only these two statuses mean that everybody waits (T1). */
export function toPassing(
  trouble: GraphError,
  { status, headers }: { readonly status: number; readonly headers: Headers },
  nowMs: number,
): PassingTrouble {
  const wait = readRetryAfter(headers['retry-after'], nowMs);
  if (status === 429) return new PassingTrouble(trouble, wait ?? 'unsaid');
  return new PassingTrouble(trouble, status === 503 ? wait : null);
}

/** What it means that there was no answer. The cause is not kept: it may hold the address. */
export function toNetworkTrouble(where: string, error: unknown): PassingTrouble | GraphError {
  if (error instanceof GraphError || error instanceof PassingTrouble) return error;
  if (error instanceof PrivateAddressError)
    return new GraphError('untrusted', `${where} leads to a private address; nothing was sent there.`);
  // Of several addresses that were tried, the first one's.
  const [tried] = error instanceof AggregateError ? (error.errors as unknown[]) : [error];
  const code = fieldOf(tried, 'code');
  const why =
    error instanceof DeadlineError
      ? error.message
      : `The connection failed${typeof code === 'string' && /^\w+$/.test(code) ? ` (${code})` : ''}.`;
  return new PassingTrouble(new GraphError('unavailable', `${where}: ${why}`));
}

/** An answer of 2xx that cannot be read happens under load, so it passes (T6). */
export function unreadable(where: string, { status, headers }: Exchanged): PassingTrouble {
  const message = `${where} was answered with status ${status} and a body that cannot be read.`;
  return new PassingTrouble(
    new GraphError('unavailable', message, { status, requestId: readRequestId(headers) }),
  );
}

export function fieldOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return null;
  return (value as Readonly<Record<string, unknown>>)[name] ?? null;
}

function troubleOf(status: number): GraphTrouble {
  if (status >= 300 && status < 400) return 'untrusted';
  if (status < 300) return 'protocol';
  const known = { 401: 'credentials', 403: 'forbidden', 404: 'missing', 410: 'gone', 423: 'locked' } as const;
  return known[status as keyof typeof known] ?? 'refused';
}
