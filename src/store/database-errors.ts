import { KnowledgeError, messageOf } from '../core/errors.ts';
import { noSpace } from '../core/no-space.ts';
import { describeDatabase, whyUnreachable } from './database-place.ts';

/** Milliseconds that a caller who was told `UNAVAILABLE` should wait before asking again. */
export const retryAfterMs = 1000;

/** The SQLSTATE or system error code of a failure, wherever in its causes it stands; empty where there is none. */
export function sqlState(error: unknown): string {
  for (let e = error; e instanceof Error; e = e.cause as Error) {
    const code = (e as { code?: unknown }).code;
    if (typeof code === 'string') return code;
  }
  return '';
}

/** The server cut the transaction short for no fault of its content: nothing was written, and it may be run again. */
export function isRetryable(error: unknown): boolean {
  return retryableStates.has(sqlState(error));
}

/** The refusal a database failure becomes at a door; anything that is nobody's weather passes through unchanged. */
export function asKnowledgeError(error: unknown): unknown {
  if (error instanceof KnowledgeError) return error;
  if (isDiskFull(error)) return noSpace(diskFull, error);
  const text = unavailableText(sqlState(error), messageOf(error));
  if (text === null) return error;
  return new KnowledgeError('UNAVAILABLE', text, { details: { retryAfterMs }, cause: error });
}

/**
 * The same for a read: it may be made for the answer to a change that has been carried out, so its refusal says nothing
 * of changes (G8).
 */
export function asReadError(error: unknown): unknown {
  const told = asKnowledgeError(error);
  const isPassing = told !== error && told instanceof KnowledgeError && !isDiskFull(error);
  if (!isPassing || isSetup(error)) return told;
  return new KnowledgeError('UNAVAILABLE', readText, { details: told.details, cause: error });
}

const readText =
  'The database cannot answer now. Ask again in a moment, after a change with the same idempotency key where you gave one.';

/** The server found no room on a disk of its own, wherever in the causes that stands (F29). */
export function isDiskFull(error: unknown): boolean {
  return sqlState(error) === '53100';
}

const diskFull =
  'The database has no space left on its disk; nothing was written. Make room there, and ask again.';

/**
 * The refusal of a lock that did not come: behind others who wait, several waits of the lock's time limit may end with
 * the statement's.
 */
export function asLockError(error: unknown): unknown {
  return sqlState(error) === '57014'
    ? new KnowledgeError('UNAVAILABLE', lockedText, { details: { retryAfterMs }, cause: error })
    : error;
}

/** The refusal of a transaction whose turn did not come in time. */
export function tooManyTransactions(): KnowledgeError {
  return new KnowledgeError(
    'UNAVAILABLE',
    'Too many changes are under way; nothing was changed. Ask again in a moment.',
    { details: { retryAfterMs } },
  );
}

/**
 * The same at a start or for an operator: in words that name login, database or role, which no caller should read.
 * `url`: the address that was asked, so that the words can say where it is, without its password.
 */
export function asSetupError(error: unknown, url?: string): unknown {
  if (error instanceof KnowledgeError) return error;
  const state = sqlState(error);
  const text =
    (error instanceof Error ? setupText(state, error.message, url) : null) ?? reachText(state, url);
  return text === null ? asKnowledgeError(error) : new KnowledgeError('UNAVAILABLE', text, { cause: error });
}

function reachText(state: string, url: string | undefined): string | null {
  const why = whyUnreachable(state);
  if (url === undefined || why === null) return null;
  return `The database cannot be reached at ${describeDatabase(url)}: ${why}. Start the server, or correct the address in the settings.`;
}

const retryableStates = new Set([
  '40001', // serialization
  '40P01', // deadlock
]);

/** The server refused the work and rolled it back, and the connection lives. */
const refusedStates = new Set([
  ...retryableStates,
  '53200', // out of memory
  '53300', // too many connections
  '57P03', // starting up
  '57014', // statement timeout
  '55P03', // lock timeout
  'ECONNREFUSED',
  'ENOTFOUND',
  'EHOSTUNREACH',
]);

/** The connection ended, perhaps after a COMMIT was sent: whether it was carried out is not known (guarantee 8). */
const lostStates = new Set([
  '57P01', // terminated by an administrator
  '57P02', // crash of another backend
  '25P03', // idle in transaction
  '25P04', // transaction timeout
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
]);

const lockedText = 'Another change of this package is under way; nothing was changed. Ask again.';

function unavailableText(state: string, message: string): string | null {
  if (state === '55P03') return lockedText;
  if (refusedStates.has(state) || message === 'timeout exceeded when trying to connect')
    return 'The database cannot answer now; nothing was changed. Ask again in a moment.';
  if (
    lostStates.has(state) ||
    state.startsWith('08') ||
    /^Connection (terminated|ended)|is not queryable$/.test(message)
  )
    return 'The connection to the database was lost; whether a change was made is not known. Ask again in a moment, with the same idempotency key where you gave one.';
  if (setupText(state, message) !== null)
    return 'The database does not let this server in; an administrator must look.';
  return null;
}

function isSetup(error: unknown): boolean {
  return error instanceof Error && setupText(sqlState(error), error.message) !== null;
}

/** States in which the server is there and refuses this login, database or role. */
const setupStates = new Set(['28P01', '28000', '3D000', '22023', '42501']);

function setupText(state: string, message: string, url?: string): string | null {
  if (!setupStates.has(state)) return null;
  const asked = url === undefined ? '' : ` The address is ${describeDatabase(url)}.`;
  if (state === '28P01' || state === '28000') return `The database refuses the login: ${message}.${asked}`;
  if (state === '3D000') return `The server has no such database: ${message}.${asked}`;
  const role = /role "(agent_knowledge_\w+)"/.exec(message)?.[1];
  if (role === undefined) return null;
  return state === '22023'
    ? `The server has no role ${role}: this database has not been migrated.`
    : `The login may not act as ${role}. Run the migration with this login's URL, or let an administrator grant ${role} to it.`;
}
