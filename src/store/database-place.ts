/** Where a database is, without the password of its URL: `user@host:port/database`. */
export function describeDatabase(url: string): string {
  const { hostname, port, pathname, username } = new URL(url);
  const place = `${hostname === '' ? 'localhost' : hostname}:${port === '' ? '5432' : port}${pathname}`;
  return username === '' ? place : `${decodeURIComponent(username)}@${place}`;
}

/** Why a server cannot be used, by SQLSTATE or system error code, as an operator is told; null for every other state. */
export function whyUnreachable(state: string): string | null {
  return reasons[state] ?? null;
}

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nobody listens there',
  ENOTFOUND: 'there is no such host',
  EAI_AGAIN: 'the host name cannot be looked up now',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the host cannot be reached',
  ETIMEDOUT: 'the host does not answer',
  '28P01': 'it refuses the login or its password',
  '28000': 'it refuses the login',
  '3D000': 'the server has no such database',
  '53300': 'it has no connection left',
  '57P03': 'it is starting up or shutting down',
};
