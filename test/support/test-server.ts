import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import type { TestProject } from 'vitest/node';
import { startEmbeddedPostgres } from '../../src/store/embedded-postgres.ts';
import { migrate } from '../../src/store/migrate.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Superuser URL of the suite's PostgreSQL; its path names no database. */
    testServer: { superuserUrl: string; loginUser: string; loginPassword: string };
  }
}

/** Names the migrated database that every test file clones. */
export const templateDatabase = 'agent_knowledge_template';

/**
 * One real PostgreSQL for the whole suite, in a folder of its own, with one migrated database to clone: an embedded one
 * with fsync as in production.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'agent-knowledge-test-'));
  const server = await startEmbeddedPostgres({ dataDir: folder });
  const superuserUrl = await readSuperuserUrl(folder);
  const login = new URL(server.applicationUrl);
  await makeTemplate(superuserUrl, login);
  project.provide('testServer', {
    superuserUrl,
    loginUser: decodeURIComponent(login.username),
    loginPassword: decodeURIComponent(login.password),
  });
  return async () => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  };
}

async function makeTemplate(superuserUrl: string, login: URL): Promise<void> {
  const client = new Client({ connectionString: databaseUrl(superuserUrl, 'postgres') });
  await client.connect();
  await client.query(`create database ${templateDatabase} template template0 encoding 'UTF8'`);
  await client.end();
  const application = new URL(databaseUrl(superuserUrl, templateDatabase));
  application.username = login.username;
  application.password = login.password;
  await migrate({ adminUrl: databaseUrl(superuserUrl, templateDatabase), applicationUrl: application.href });
}

/** The same server, another database. */
export function databaseUrl(url: string, database: string): string {
  const changed = new URL(url);
  changed.pathname = `/${database}`;
  return changed.href;
}

/** The superuser of the embedded PostgreSQL of a data folder, for what only a test may do. */
export async function readSuperuserUrl(folder: string): Promise<string> {
  const found = JSON.parse(await readFile(join(folder, 'postgres.json'), 'utf8')) as {
    port: number;
    superuser: { user: string; password: string };
  };
  const url = new URL('postgres://127.0.0.1/');
  url.port = String(found.port);
  url.username = found.superuser.user;
  url.password = found.superuser.password;
  return url.href;
}
