import type { TokenCredential } from '@azure/identity';
import { GraphError } from './graph-error.ts';
import type { GraphHabits } from './graph-habits.ts';
import { chooseIdentity, openIdentity } from './identity.ts';
import { lateTrouble, toTokenTrouble } from './token-trouble.ts';
import type { GraphCredentials } from './graph-place.ts';
import type { GraphCloud } from './graph.ts';

/** A token is not used in the last minutes of its life. */
const spareMs = 5 * 60_000;

/** Asks for nothing, and yet makes the library ask anew instead of answering from its cache (graph.md 5). */
const neutralClaims = '{"access_token":{}}';

export interface TokenSource {
  /** A token that may be sent now. Throws `GraphError` `credentials` or `unavailable`. */
  read(): Promise<string>;
  /** Another one, since this one was refused (T8); whoever asks at the same time shares it. */
  renew(refused: string, claims: string | null): Promise<string>;
}

export interface TokenWanted {
  readonly cloud: GraphCloud;
  readonly credentials: GraphCredentials;
  /** Whether the authority is none of Microsoft's. */
  readonly isAuthorityOwn: boolean;
  readonly habits: GraphHabits;
  readonly signal: AbortSignal;
}

/** The one token of a process. */
export function openTokens(wanted: TokenWanted): TokenSource {
  const { credentials } = wanted;
  return credentials.kind === 'token' ? new ReadyToken(credentials.token) : new IdentityToken(wanted);
}

class ReadyToken implements TokenSource {
  readonly #token: string;

  constructor(token: string) {
    this.#token = token;
  }

  async read(): Promise<string> {
    return this.#token;
  }

  async renew(): Promise<string> {
    throw new GraphError(
      'credentials',
      'Microsoft Graph refused the ready access token (401). Such a token lives for about an hour and cannot be renewed: set a new one, or credentials of an app.',
      { status: 401 },
    );
  }
}

class IdentityToken implements TokenSource {
  readonly #wanted: TokenWanted;
  #credential: Promise<TokenCredential> | null = null;
  #held: { readonly token: string; readonly untilMs: number } | null = null;
  #asking: Promise<string> | null = null;

  constructor(wanted: TokenWanted) {
    this.#wanted = wanted;
  }

  async read(): Promise<string> {
    const held = this.#held;
    if (held !== null && held.untilMs > this.#wanted.habits.now()) return held.token;
    return this.#share(null);
  }

  async renew(refused: string, claims: string | null): Promise<string> {
    if (this.#held !== null && this.#held.token !== refused) return this.#held.token;
    return this.#share(claims ?? neutralClaims);
  }

  #share(claims: string | null): Promise<string> {
    this.#asking ??= this.#ask(claims).finally(() => {
      this.#asking = null;
    });
    return this.#asking;
  }

  get #isManaged(): boolean {
    return chooseIdentity(process.env) === 'managed';
  }

  async #ask(claims: string | null): Promise<string> {
    const { cloud, habits, signal, isAuthorityOwn } = this.#wanted;
    const late = AbortSignal.any([signal, AbortSignal.timeout(habits.tokenMs)]);
    try {
      this.#credential ??= openIdentity(cloud, isAuthorityOwn);
      const asked = this.#credential.then((credential) =>
        credential.getToken(cloud.scope, { abortSignal: late, ...(claims === null ? {} : { claims }) }),
      );
      const got = await untilAborted(asked, late);
      if (got === null) throw new GraphError('credentials', 'There is no identity to get a token for.');
      const restMs = got.expiresOnTimestamp - habits.now();
      this.#held = { token: got.token, untilMs: habits.now() + Math.max(restMs / 2, restMs - spareMs) };
      return got.token;
    } catch (error) {
      if (this.#held === null) this.#credential = null; // A file or variable that was mended counts next time.
      if (signal.aborted) throw error;
      if (error instanceof GraphError) throw error;
      throw late.aborted ? lateTrouble(this.#isManaged) : toTokenTrouble(error, this.#isManaged);
    }
  }
}

/** The library may not heed the signal. */
function untilAborted<Result>(asked: Promise<Result>, signal: AbortSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    asked.then(resolve, reject);
  });
}

/** The claims that a 401 asks for, decoded; null where it asks for none (T8). */
export function readClaims(challenge: string | undefined): string | null {
  const encoded = /\bclaims="([\w+/=-]+)"/i.exec(challenge ?? '')?.[1];
  if (encoded === undefined) return null;
  const claims = Buffer.from(encoded, 'base64').toString('utf8');
  try {
    return typeof JSON.parse(claims) === 'object' ? claims : null;
  } catch {
    return null;
  }
}
