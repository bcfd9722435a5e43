import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { ifThere } from './if-there.ts';
import { inWords } from './plain-words.ts';

const role = z.object({ user: z.string().min(1), password: z.string().min(1) });

const credentialsShape = z.object({
  /** PostgreSQL's own number of the cluster, given by initdb: tells our server from every other one. */
  systemIdentifier: z.string().regex(/^\d{1,20}$/),
  database: z.string().min(1),
  /** Only the process that starts the server uses it. */
  superuser: role,
  /** Owns the database, may make roles: migrates. */
  admin: role,
  /** Owns nothing. */
  login: role,
});

/** What it takes to use a cluster: its identity, its database and three login roles with their passwords. */
export type Credentials = z.infer<typeof credentialsShape>;

const connectionShape = credentialsShape.extend({
  host: z.literal('127.0.0.1'),
  port: z.int().min(1).max(65_535),
  /** Where the cluster lies: in the data folder, or where root had to put it. */
  clusterDir: z.string().min(1),
});

/** The content of `<data folder>/postgres.json`: the credentials, and where the server was last started. */
export type ConnectionRecord = z.infer<typeof connectionShape>;

/** Names a role of the credentials. */
export type RoleName = 'superuser' | 'admin' | 'login';

/** The three roles of a new cluster, with passwords of 32 random bytes, safe in SQL, files and URLs as they are. */
export function newRoles(): Pick<Credentials, RoleName> {
  return {
    superuser: newRole('supervisor'),
    admin: newRole('agent_knowledge_admin'),
    login: newRole('agent_knowledge_login'),
  };
}

function newRole(user: string): z.infer<typeof role> {
  return { user, password: randomBytes(32).toString('base64url') };
}

/** The credentials that lie in a cluster, published together with it; throws where there are none. */
export async function readCredentials(clusterDir: string): Promise<Credentials> {
  const file = credentialsFile(clusterDir);
  const found = await readShape(file, credentialsShape);
  if (found === null) {
    throw new Error(
      `${clusterDir} holds a PostgreSQL cluster, but not one of this product: its passwords (${path.basename(file)}) are missing.`,
    );
  }
  return found;
}

/** Where a cluster keeps its credentials; PostgreSQL leaves unknown files in its folder alone. */
export function credentialsFile(clusterDir: string): string {
  return path.join(clusterDir, 'agent-knowledge.json');
}

/** Reads `<data folder>/postgres.json`; null where no server was ever started in this data folder. */
export async function readConnectionRecord(dataDir: string): Promise<ConnectionRecord | null> {
  return await readShape(connectionFile(dataDir), connectionShape);
}

/** `<data folder>/postgres.json`, mode 0600. */
export function connectionFile(dataDir: string): string {
  return path.join(dataDir, 'postgres.json');
}

/** A connection string for one of the roles. It holds the password: it belongs in no log and no message. */
export function urlOf(credentials: Credentials, role: RoleName, port: number): string {
  const { user, password } = credentials[role];
  return `postgresql://${encodeURIComponent(user)}:${encodeURIComponent(password)}@127.0.0.1:${port}/${encodeURIComponent(credentials.database)}`;
}

async function readShape<T>(file: string, shape: z.ZodType<T>): Promise<T | null> {
  const text = await inWords(`${file} could not be read`, () => ifThere(readFile(file, 'utf8')));
  if (text === null) {
    return null;
  }
  try {
    return shape.parse(JSON.parse(text));
  } catch {
    // Without the cause: a parser's message quotes the text, and the text holds passwords.
    throw new Error(`${file} is not what this product wrote there: expected its JSON with server and roles.`);
  }
}
