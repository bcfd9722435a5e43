import { randomUUID } from 'node:crypto';
import { refusal, type Asked, type Reply } from './reply.ts';

/** Who the app is. */
export interface AppFacts {
  readonly tenantId: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

/** The authority: gives tokens that look real, and knows which of them count. */
export class Tokens {
  readonly app: AppFacts;
  /** Tokens that count, with the end of their life in milliseconds. */
  readonly #valid = new Map<string, number>();
  #isRevoked = false;
  /** Where the authority is; known when it listens. */
  url = '';

  constructor(app: AppFacts) {
    this.app = app;
  }

  /** A new token; `text` where it must be that very one. */
  issue(lifeSeconds = 3599, text?: string): string {
    const seconds = Math.floor(Date.now() / 1000);
    const token = text ?? this.#jwt({ iat: seconds, nbf: seconds, exp: seconds + lifeSeconds });
    this.#valid.set(token, Date.now() + lifeSeconds * 1000);
    return token;
  }

  /** No token given so far counts any more; the function makes them count again. */
  expire(): () => void {
    const ended = [...this.#valid];
    this.#valid.clear();
    return () => {
      for (const [token, until] of ended) this.#valid.set(token, until);
    };
  }

  /** No token counts, and none is given; the function ends that. */
  revoke(): () => void {
    const restore = this.expire();
    this.#isRevoked = true;
    return () => {
      this.#isRevoked = false;
      restore();
    };
  }

  /** Null where the request carries a token that counts. */
  refusalFor(asked: Asked): Reply | null {
    const token = /^Bearer (.+)$/i.exec(asked.headers['authorization'] ?? '')?.[1];
    const until = token === undefined ? undefined : this.#valid.get(token);
    return until !== undefined && until > Date.now() ? null : this.unauthorized();
  }

  /** `claims`: the challenge that only a new token with them answers (T8). */
  unauthorized(claims?: string): Reply {
    const facts = `realm="", authorization_uri="${this.url}/common/oauth2/v2.0/authorize", client_id="${this.app.clientId}"`;
    const challenge = claims === undefined ? '' : `, error="insufficient_claims", claims="${claims}"`;
    return refusal(401, 'InvalidAuthenticationToken', {
      headers: { 'www-authenticate': `Bearer ${facts}${challenge}` },
    });
  }

  /** Null where the path is none of the authority's. */
  answer(asked: Asked): Reply | null {
    const [path = ''] = asked.path.split('?');
    if (path === '/common/discovery/instance') return this.#discovery();
    if (/^\/[^/]+(?:\/v2\.0)?\/\.well-known\/openid-configuration$/.test(path)) return this.#openId();
    if (/^\/[^/]+\/oauth2\/v2\.0\/token$/.test(path)) return this.#give(asked, path.split('/')[1] ?? '');
    return null;
  }

  #give(asked: Asked, tenant: string): Reply {
    const form = new URLSearchParams(asked.body);
    if (tenant !== this.app.tenantId) return oauthError(400, 'invalid_request', 90002);
    if (form.get('grant_type') !== 'client_credentials')
      return oauthError(400, 'unsupported_grant_type', 70003);
    if (!/\/\.default\b/.test(form.get('scope') ?? '')) return oauthError(400, 'invalid_scope', 1002012);
    if (form.get('client_id') !== this.app.clientId) return oauthError(400, 'unauthorized_client', 700016);
    if (this.#isRevoked || !this.#isProven(form)) return oauthError(401, 'invalid_client', 7000215);
    const expiry = { expires_in: 3599, ext_expires_in: 3599 };
    return { status: 200, body: { token_type: 'Bearer', ...expiry, access_token: this.issue() } };
  }

  /** The signature of an assertion is not checked: only that the app says it is itself. */
  #isProven(form: URLSearchParams): boolean {
    const assertion = form.get('client_assertion');
    if (assertion === null) return form.get('client_secret') === this.app.clientSecret;
    const [, claims = '', signature = ''] = assertion.split('.');
    const text = Buffer.from(claims, 'base64url').toString();
    return signature !== '' && text.includes(`"${this.app.clientId}"`);
  }

  #openId(): Reply {
    const base = `${this.url}/${this.app.tenantId}`;
    return {
      status: 200,
      body: {
        issuer: `${base}/v2.0`,
        authorization_endpoint: `${base}/oauth2/v2.0/authorize`,
        token_endpoint: `${base}/oauth2/v2.0/token`,
        jwks_uri: `${base}/discovery/v2.0/keys`,
        response_types_supported: ['code', 'id_token'],
        subject_types_supported: ['pairwise'],
        token_endpoint_auth_methods_supported: ['client_secret_post', 'private_key_jwt'],
      },
    };
  }

  #discovery(): Reply {
    const { host } = new URL(this.url);
    const metadata = [{ preferred_network: host, preferred_cache: host, aliases: [host] }];
    const endpoint = `${this.url}/${this.app.tenantId}/v2.0/.well-known/openid-configuration`;
    return { status: 200, body: { tenant_discovery_endpoint: endpoint, 'api-version': '1.1', metadata } };
  }

  #jwt(times: Readonly<Record<string, number>>): string {
    const { tenantId, clientId } = this.app;
    const claims = {
      aud: 'https://graph.microsoft.com',
      iss: `https://sts.windows.net/${tenantId}/`,
      ...times,
      appid: clientId,
      roles: ['Files.Read.All', 'Sites.Read.All'],
      tid: tenantId,
      uti: randomUUID(),
      ver: '1.0',
    };
    const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
    return `${part({ typ: 'JWT', alg: 'RS256' })}.${part(claims)}.${part(randomUUID())}`;
  }
}

function oauthError(status: number, error: string, code: number): Reply {
  return {
    status,
    body: {
      error,
      error_description: `AADSTS${code}: The stand-in refuses to give a token.`,
      error_codes: [code],
      timestamp: new Date().toISOString(),
      trace_id: randomUUID(),
      correlation_id: randomUUID(),
    },
  };
}
