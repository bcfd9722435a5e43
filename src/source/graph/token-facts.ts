import type { TokenFacts } from '../../core/drive-survey.ts';

/**
 * What an access token says of itself, without verifying anything: permissions and the end of its life, never who it was
 * given to. One that cannot be read is as good.
 */
export function readTokenFacts(token: string): TokenFacts {
  const claims = claimsOf(token);
  if (claims === null) return { isReadable: false, permissions: [], expiresAt: null };
  const { roles, scp, exp } = claims;
  const granted = Array.isArray(roles) ? roles.filter((role) => typeof role === 'string') : [];
  const scopes = typeof scp === 'string' ? scp.split(' ').filter((scope) => scope !== '') : [];
  const isTime = typeof exp === 'number' && exp > 0 && exp < 8e12;
  return {
    isReadable: true,
    permissions: [...granted, ...scopes],
    expiresAt: isTime ? new Date(exp * 1000) : null,
  };
}

function claimsOf(token: string): Readonly<Record<string, unknown>> | null {
  const [, payload = '', ...rest] = token.split('.');
  if (payload === '' || rest.length > 1) return null;
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
    return typeof claims === 'object' && claims !== null ? (claims as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
