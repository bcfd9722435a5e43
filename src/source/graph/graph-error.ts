/**
 * What kind of trouble with Microsoft Graph it is, by status and documented codes, never by a message's words:
 *
 * - `setup`: settings are missing, so nothing was asked for;
 * - `credentials`: no token is to be had, or a new one was refused too (401);
 * - `forbidden` (403), `missing` (404), `locked` (423), `gone` (410), `refused` (any other 4xx);
 * - `unavailable`: network, deadline, 5xx or unreadable answers, after every retry;
 * - `throttled`: the service asks to wait longer than the caller may;
 * - `untrusted`: a link or redirect leads where nothing is expected;
 * - `protocol`: an answer that makes no sense;
 * - `closed`: this process is ending.
 */
export type GraphTrouble =
  | 'setup'
  | 'credentials'
  | 'forbidden'
  | 'missing'
  | 'locked'
  | 'gone'
  | 'refused'
  | 'unavailable'
  | 'throttled'
  | 'untrusted'
  | 'protocol'
  | 'closed';

/** Trouble with Microsoft Graph, as a sentence without a token, a download address or a body. */
export class GraphError extends Error {
  override readonly name = 'GraphError';
  readonly trouble: GraphTrouble;
  /** Null where nothing was answered. */
  readonly status: number | null;
  /** Every code of the answer, the outermost first, at any depth (T7). */
  readonly codes: readonly string[];
  /** By which Microsoft's support finds the request. */
  readonly requestId: string | null;

  constructor(
    trouble: GraphTrouble,
    message: string,
    facts: {
      readonly status?: number | null;
      readonly codes?: readonly string[];
      readonly requestId?: string | null;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.trouble = trouble;
    this.status = facts.status ?? null;
    this.codes = facts.codes ?? [];
    this.requestId = facts.requestId ?? null;
  }
}
