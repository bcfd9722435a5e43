import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { sha256 } from '../core/checksum.ts';
import { sessionLifetimeMs } from '../operations/sign-in.ts';
import { allowedHosts } from './host-check.ts';
import { Refusal } from './refusal.ts';

/** Where this server is reached, which decides what its cookie is called and which origins are its own. */
export interface ServerPlace {
  readonly host: string;
  readonly port: number;
  readonly publicUrl: string | null;
}

/** How browsers that are signed in are known: by a cookie, and by what only a page of our own can add to it. */
export interface Sessions {
  /** The secret of the cookie; null where there is none that could be ours. */
  readSecret(request: IncomingMessage): string | null;
  /** The header that gives a browser this secret, for as long as a session lasts. */
  setCookie(secret: string): string;
  /** The header that takes it away. */
  clearCookie(): string;
  /** Whether a request comes from a page of this server, as far as browsers say. */
  isOwnPage(request: IncomingMessage): boolean;
  /** Throws `FORBIDDEN` unless the request carries this session's token and comes from a page of ours (T3). */
  requireOwnPage(request: IncomingMessage, secret: string): void;
}

/** The header that holds the token of a session; no page of another origin may send it. */
export const csrfHeader = 'x-csrf-token';

/**
 * What a page of ours sends with each request of a session. Made from the secret, which no page can read, so that there
 * is nothing to keep, and knowing the one does not give the other.
 */
export function csrfTokenOf(secret: string): string {
  return createHmac('sha256', secret).update('agent-knowledge page v1').digest('base64url');
}

export function createSessions(place: ServerPlace): Sessions {
  const secure = place.publicUrl !== null && new URL(place.publicUrl).protocol === 'https:';
  const name = cookieName(place, secure);
  const attributes = `Path=/; HttpOnly; SameSite=Strict${secure ? '; Secure' : ''}`;
  const origins = ownOrigins(place);
  const isOwn = (request: IncomingMessage) => {
    const { origin, 'sec-fetch-site': site } = request.headers;
    return (origin === undefined || origins.has(origin)) && (site === undefined || site === 'same-origin');
  };
  return {
    readSecret: (request) => readCookie(request.headers.cookie ?? '', name),
    setCookie: (secret) => `${name}=${secret}; Max-Age=${sessionLifetimeMs / 1000}; ${attributes}`,
    clearCookie: () => `${name}=; Max-Age=0; ${attributes}`,
    isOwnPage: isOwn,
    requireOwnPage(request, secret) {
      const { origin, 'sec-fetch-site': site } = request.headers;
      const isNamed = origin !== undefined || (request.method === 'GET' && site !== undefined);
      if (!isNamed || !isOwn(request)) throw notOurPage();
      if (!sameText(String(request.headers[csrfHeader] ?? ''), csrfTokenOf(secret))) throw noToken();
    },
  };
}

/**
 * Cookies are a host's, whatever the port, so the name tells two of our servers on one host apart: by the public
 * address, which all processes behind it share, or by where the server listens.
 */
function cookieName({ host, port, publicUrl }: ServerPlace, secure: boolean): string {
  const origin = publicUrl === null ? `${host}:${port}` : new URL(publicUrl).origin;
  return `${secure ? '__Host-' : ''}agent-knowledge-${sha256(origin).slice(0, 12)}`;
}

/** The origins under which our own page can have been loaded. */
function ownOrigins(place: ServerPlace): ReadonlySet<string> {
  const local = [...allowedHosts({ ...place, publicUrl: null })].map((host) => `http://${host}`);
  return new Set([...local, ...(place.publicUrl === null ? [] : [new URL(place.publicUrl).origin])]);
}

function readCookie(header: string, name: string): string | null {
  for (const part of header.split(';')) {
    const [key, value = ''] = part.trim().split('=', 2);
    if (key === name && /^[A-Za-z0-9_-]{43}$/.test(value)) return value;
  }
  return null;
}

function sameText(a: string, b: string): boolean {
  return timingSafeEqual(Buffer.from(sha256(a), 'hex'), Buffer.from(sha256(b), 'hex'));
}

function notOurPage(): Refusal {
  return new Refusal(
    403,
    'A request with the cookie of a sign-in must come from a page of this server. Programs send "Authorization: Bearer <key>".',
    { code: 'FORBIDDEN' },
  );
}

function noToken(): Refusal {
  return new Refusal(
    403,
    `A request with the cookie of a sign-in needs this session's token in the header ${csrfHeader}; the page sends it by itself. Load the page again.`,
    { code: 'FORBIDDEN' },
  );
}
