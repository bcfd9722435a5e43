import { readClaims, type TokenSource } from './access-token.ts';
import { describeTarget, parseBody, readCodes, readRequestId } from './answer.ts';
import type { Exchanged } from './exchange.ts';
import { GraphError } from './graph-error.ts';
import type { Request } from './wire.ts';

/**
 * Sends a request with the token; where it is refused with 401, once more with a new one (T8, F67). `renewal` is one operation's
 * own: it gets one new token, however often it tries.
 */
export async function sendAuthorized(
  { tokens, wire }: { readonly tokens: TokenSource; readonly wire: (request: Request) => Promise<Exchanged> },
  request: Request,
  renewal: Renewal,
): Promise<Exchanged> {
  const token = await tokens.read();
  const answer = await wire(withToken(request, token));
  if (answer.status !== 401) return answer;
  const fresh = await renewal.renew(tokens, token, answer, describeTarget(request.path));
  const second = await wire(withToken(request, fresh));
  if (second.status === 401) throw refusedTwice(second, describeTarget(request.path));
  return second;
}

/** One new token for one operation. */
export class Renewal {
  #isUsed = false;

  async renew(
    tokens: TokenSource,
    refused: string,
    answer: Pick<Exchanged, 'headers' | 'bytes'>,
    where: string,
  ): Promise<string> {
    if (this.#isUsed) throw refusedTwice(answer, where);
    this.#isUsed = true;
    return tokens.renew(refused, readClaims(answer.headers['www-authenticate']));
  }
}

function refusedTwice({ headers, bytes }: Pick<Exchanged, 'headers' | 'bytes'>, where: string): GraphError {
  const body = parseBody(bytes)?.body ?? null;
  const codes = readCodes(body);
  const named = codes.length === 0 ? '' : ` (${codes.join(', ')})`;
  return new GraphError('credentials', `Microsoft Graph refuses a new token too (401)${named}: ${where}.`, {
    status: 401,
    codes,
    requestId: readRequestId(headers, body),
  });
}

function withToken(request: Request, token: string): Request {
  return { ...request, headers: { ...request.headers, authorization: `Bearer ${token}` } };
}
