import { messageOf } from '../../core/errors.ts';
import { Client } from 'pg';
import type { Credentials, RoleName } from './credentials.ts';
import { codeOf } from './plain-words.ts';

/** What a server says about itself. */
export interface ServerIdentity {
  readonly systemIdentifier: string;
  readonly encoding: string;
}

/** What `askIdentity` rejects with at a server that would have the password in clear or as an MD5 sum. */
export const notScram = 'the server asked for the password in another form than SCRAM';

const timeoutMs = 5000;
const wrongPassword = '28P01';

/**
 * Throws where the server on a port is not the cluster of these credentials, naming both system identifiers, or where
 * it refuses their password or does not keep text in UTF-8. `where` names the server in the message.
 */
export async function requireIdentity(credentials: Credentials, port: number, where: string): Promise<void> {
  const { systemIdentifier: expected } = credentials;
  const found = await askAsSuperuser(credentials, port, where);
  if (found.systemIdentifier !== expected) {
    throw new Error(
      `${where} is another database: expected system identifier ${expected}, found ${found.systemIdentifier}. Stop that server and start again.`,
    );
  }
  if (found.encoding !== 'UTF8') {
    throw new Error(`${where} has the encoding ${found.encoding}; expected UTF8.`);
  }
}

async function askAsSuperuser(
  credentials: Credentials,
  port: number,
  where: string,
): Promise<ServerIdentity> {
  try {
    return await askIdentity(credentials, 'superuser', port);
  } catch (error) {
    const reason = messageOf(error);
    const hint =
      codeOf(error) === wrongPassword
        ? '. The password recorded with the database is not the one it has; bring back the one it was created with'
        : '';
    throw new Error(`${where} did not let our superuser in: ${reason}${hint}.`, { cause: error });
  }
}

/**
 * Connects to the server on a loopback port as one of the roles and asks who it is. Rejects with the driver's error
 * where nobody answers within 5 s, or the password is refused.
 *
 * The password never leaves in clear: whoever took the port while our server was down could ask for it that way, and
 * the driver alone would answer.
 */
export async function askIdentity(
  credentials: Credentials,
  role: RoleName,
  port: number,
): Promise<ServerIdentity> {
  const client = clientFor(credentials, role, port);
  client.on('error', () => undefined); // A broken connection also rejects the call that waits for it.
  try {
    await client.connect();
    const { rows } = await client.query<ServerIdentity>(
      `select system_identifier::text as "systemIdentifier", current_setting('server_encoding') as encoding from pg_control_system()`,
    );
    const [identity] = rows;
    if (identity === undefined) {
      throw new Error('the server did not say who it is');
    }
    return identity;
  } finally {
    await client.end().catch(() => undefined);
  }
}

function clientFor(credentials: Credentials, role: RoleName, port: number): Client {
  const { user, password } = credentials[role];
  let isScram = false;
  const client = new Client({
    host: '127.0.0.1',
    port,
    user,
    database: credentials.database,
    ssl: false,
    application_name: 'agent-knowledge-start',
    connectionTimeoutMillis: timeoutMs,
    query_timeout: timeoutMs,
    password: () => {
      if (!isScram) {
        throw new Error(notScram);
      }
      return password;
    },
  });
  client.connection.on('authenticationSASL', () => {
    isScram = true;
  });
  return client;
}
