import type { Credentials } from './credentials.ts';
import { askIdentity, notScram } from './identity.ts';
import { codeOf } from './plain-words.ts';

/**
 * Throws where another PostgreSQL listens on the port our cluster had last (T7, R8): whoever wrote the address down would
 * reach it instead of ours. What else may listen there is nobody's trouble, since our server takes another port then.
 */
export async function refuseForeignServer(credentials: Credentials, port: number): Promise<void> {
  const found = await describeServer(credentials, port);
  if (found === null) return;
  throw new Error(
    `Another PostgreSQL listens on 127.0.0.1:${port}, where ours was last: expected system identifier ${credentials.systemIdentifier}, found ${found}. Stop that server, or write a free port into postgres.json, and start again.`,
  );
}

/** What a server that is a PostgreSQL says of itself; null where there is none. */
async function describeServer(credentials: Credentials, port: number): Promise<string | null> {
  try {
    return (await askIdentity(credentials, 'superuser', port)).systemIdentifier;
  } catch (error) {
    return isFromServer(error) ? 'a server that does not let our superuser in, and so tells none' : null;
  }
}

/** A PostgreSQL refuses with a severity and a SQLSTATE; the operating system's codes (`ECONNREFUSED`) are longer. */
function isFromServer(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return error.message === notScram || ('severity' in error && /^[0-9A-Z]{5}$/.test(codeOf(error) ?? ''));
}
