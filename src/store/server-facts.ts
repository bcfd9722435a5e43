import { Client } from 'pg';
import { roles } from './roles.ts';

/** What a PostgreSQL server says to the login of the pools, before it acts as any role of this product. */
export interface ServerFacts {
  /** Such as 170004. */
  readonly versionNumber: number;
  readonly version: string;
  readonly encoding: string;
  readonly isStandby: boolean;
  readonly login: string;
  readonly loginIsSuperuser: boolean;
  /** The roles of this product that are missing on the server. */
  readonly missingRoles: readonly string[];
  /** The roles the pools switch to and this login may not. */
  readonly deniedRoles: readonly string[];
  /** Milliseconds by which the server's clock is ahead of this machine's. */
  readonly clockAheadMs: number;
}

/** The version below which nothing else is asked: its words for rights are others. */
export const oldestServer = 170_000;

/** Asks a server who it is and what this login may do. Rejects with the driver's error where it does not answer. */
export async function readServerFacts(url: string, now: () => Date): Promise<ServerFacts> {
  const client = new Client({
    connectionString: url,
    application_name: 'agent-knowledge-doctor',
    connectionTimeoutMillis: 5000,
    query_timeout: 5000,
  });
  client.on('error', () => undefined); // The query in flight rejects by itself.
  try {
    await client.connect();
    const server = await readServer(client, now);
    const rights =
      server.versionNumber < oldestServer ? { missingRoles: [], deniedRoles: [] } : await readRights(client);
    return { ...server, ...rights };
  } finally {
    await client.end().catch(() => undefined); // It was never connected, or is gone: the answer is known by now.
  }
}

async function readServer(
  client: Client,
  now: () => Date,
): Promise<Omit<ServerFacts, 'missingRoles' | 'deniedRoles'>> {
  const before = now().getTime();
  const { rows } = await client.query<{ at: number } & Omit<ServerFacts, 'clockAheadMs'>>(
    `select extract(epoch from clock_timestamp())::float8 * 1000 as at,
      current_setting('server_version_num')::integer as "versionNumber",
      current_setting('server_version') as version, current_setting('server_encoding') as encoding,
      pg_is_in_recovery() as "isStandby", session_user::text as login,
      (select rolsuper from pg_roles where rolname = session_user) as "loginIsSuperuser"`,
  );
  const [row] = rows;
  if (row === undefined) throw new Error('the server did not say who it is');
  const { at, ...server } = row;
  // The server read its clock somewhere between question and answer.
  return { ...server, clockAheadMs: Math.round(at - (before + now().getTime()) / 2) };
}

async function readRights(client: Client): Promise<Pick<ServerFacts, 'missingRoles' | 'deniedRoles'>> {
  const { rows } = await client.query<{ role: string; there: boolean; may: boolean | null }>(
    `select wanted as role, r.oid is not null as there, pg_has_role(session_user, r.oid, 'SET') as may
      from unnest($1::text[]) wanted left join pg_roles r on r.rolname = wanted`,
    [Object.values(roles)],
  );
  const switched: readonly string[] = [roles.app, roles.worker];
  return {
    missingRoles: rows.filter((row) => !row.there).map((row) => row.role),
    deniedRoles: rows
      .filter((row) => row.may === false && switched.includes(row.role))
      .map((row) => row.role),
  };
}
