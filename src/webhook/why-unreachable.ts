/** What the codes of Node.js mean to a person; the message of an error may name an address, a code never does. */
const words: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'refused the connection',
  ECONNRESET: 'cut the connection',
  EPIPE: 'cut the connection',
  ENOTFOUND: 'is not known by name',
  EAI_AGAIN: 'could not be looked up by name',
  ETIMEDOUT: 'did not take the connection in time',
  EHOSTUNREACH: 'cannot be reached from here',
  ENETUNREACH: 'cannot be reached from here',
  CERT_HAS_EXPIRED: 'has a certificate that has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'has a certificate for another name',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'has a certificate that nobody vouches for',
  SELF_SIGNED_CERT_IN_CHAIN: 'has a certificate that nobody vouches for',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'has a certificate that nobody vouches for',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'has a certificate that nobody vouches for',
  EPROTO: 'does not speak TLS as we do',
  ERR_SSL_WRONG_VERSION_NUMBER: 'does not speak TLS there',
  HPE_INVALID_CONSTANT: 'does not speak HTTP there',
};

/** Why no answer came, as the end of a sentence that begins with the host; `deadlineMs` where the time was over. */
export function whyUnreachable(error: unknown, deadlineMs: number | null): string {
  if (deadlineMs !== null) return `did not answer within ${deadlineMs / 1000} s.`;
  const code = codeOf(error);
  if (code === null) return 'could not be reached.';
  return `${words[code] ?? 'could not be reached'} (${code}).`;
}

/** The code of an error, or of the first of several, as where a name has many addresses. */
function codeOf(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  if ('code' in error && typeof error.code === 'string') return error.code;
  return error instanceof AggregateError ? codeOf(error.errors[0]) : null;
}
