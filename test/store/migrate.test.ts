import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { Database } from '../../src/store/database.ts';
import { JobQueue } from '../../src/store/job-queue.ts';
import { isMigrated, migrate } from '../../src/store/migrate.ts';
import { withClient } from '../support/database.ts';
import { snapshotSchema } from '../support/schema-snapshot.ts';
import { databaseUrl, templateDatabase } from '../support/test-server.ts';

/* T16, F33, F46: whoever migrates, however many at once and wherever they are cut off, there is one schema. */

const long = process.env['AGENT_KNOWLEDGE_TEST_LONG'] === '1';
if (long) vi.setConfig({ testTimeout: 600_000 });

const server = inject('testServer');
const asAdmin = <T>(work: Parameters<typeof withClient<T>>[1]) =>
  withClient(databaseUrl(server.superuserUrl, 'postgres'), work);
const made: { databases: string[]; roles: string[] } = { databases: [], roles: [] };

async function emptyDatabase(options = `encoding 'UTF8'`) {
  const name = `test_migrate_${randomBytes(6).toString('hex')}`;
  await asAdmin((client) => client.query(`create database ${name} template template0 ${options}`));
  made.databases.push(name);
  return urlsOf(name);
}

/** A login of its own, with no right to anything. */
async function newLogin(): Promise<string> {
  const name = `test_login_${randomBytes(6).toString('hex')}`;
  await asAdmin((client) => client.query(`create role ${name} login password 'secret'`));
  made.roles.push(name);
  return name;
}

function urlsOf(name: string, user = server.loginUser, password = server.loginPassword) {
  const adminUrl = databaseUrl(server.superuserUrl, name);
  const application = new URL(adminUrl);
  application.username = user;
  application.password = password;
  return { name, adminUrl, applicationUrl: application.href };
}

let clean: string[];
beforeAll(async () => {
  clean = await snapshotSchema(databaseUrl(server.superuserUrl, templateDatabase));
});
afterAll(() =>
  asAdmin(async (client) => {
    for (const name of made.databases) await client.query(`drop database ${name} with (force)`);
    for (const name of made.roles) await client.query(`drop role ${name}`);
  }),
);

describe('a migration', () => {
  it('happens once when eight begin at once, and what is done under its lock is done one by one (F46)', async () => {
    const urls = await emptyDatabase();
    expect(await isMigrated(urls.applicationUrl)).toBe(false);
    let [inside, most, turns] = [0, 0, 0];
    const underLock = async () => {
      inside += 1;
      turns += 1;
      most = Math.max(most, inside);
      await new Promise((resolve) => setTimeout(resolve, 5));
      inside -= 1;
    };
    await Promise.all(Array.from({ length: 8 }, () => migrate({ ...urls, underLock })));
    expect([most, turns]).toEqual([1, 8]);
    expect(await snapshotSchema(urls.adminUrl)).toEqual(clean);
    expect(await isMigrated(urls.applicationUrl)).toBe(true);
  });

  it('of several databases of one server at once gives each its schema, though roles are the server’s', async () => {
    const login = await newLogin();
    const all = await Promise.all(Array.from({ length: 4 }, () => emptyDatabase()));
    const urls = all.map(({ name }) => urlsOf(name, login, 'secret'));
    await Promise.all(urls.map((one) => migrate(one)));
    for (const one of urls) expect(await snapshotSchema(one.adminUrl)).toEqual(clean);
    await using database = await Database.open({ url: urls[0]!.applicationUrl });
    expect(await database.faults()).toEqual([]);
  });

  it('killed at any moment leaves nothing that the next one does not put right (T16)', async () => {
    for (let round = 0; round < (long ? 20 : 1); round += 1) {
      const urls = await emptyDatabase();
      const kills = long ? 3 : 5;
      for (let kill = 0; kill < kills; kill += 1) await killMigration(urls, Math.random() * 400);
      await migrate(urls);
      expect(await snapshotSchema(urls.adminUrl)).toEqual(clean);
    }
  });

  it('is noticed to be missing', async () => {
    const urls = await emptyDatabase();
    await migrate(urls);
    await withClient(urls.adminUrl, (client) => client.query('delete from agent_knowledge.migration'));
    expect(await isMigrated(urls.applicationUrl)).toBe(false);
  });
});

/** Begins a migration in a process of its own and kills it `afterMs` later. */
async function killMigration(
  urls: { readonly adminUrl: string; readonly applicationUrl: string },
  afterMs: number,
): Promise<void> {
  const script = fileURLToPath(new URL('../support/migrate-process.ts', import.meta.url));
  const child = spawn(process.execPath, [script, urls.adminUrl, urls.applicationUrl], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  const ended = once(child, 'exit');
  await new Promise((resolve) => setTimeout(resolve, afterMs));
  child.kill('SIGKILL');
  await ended;
}

const unavailable = (text: RegExp) => ({
  code: 'UNAVAILABLE',
  message: expect.stringMatching(text) as string,
});

describe('a start that cannot go on says what is wrong', () => {
  it('with the encoding of the database (F33, finding 11)', async () => {
    const urls = await emptyDatabase(`encoding 'SQL_ASCII' locale_provider 'libc' locale 'C'`);
    await expect(migrate(urls)).rejects.toMatchObject(unavailable(/encoding must be UTF8; it is SQL_ASCII/));
  });

  it('with an administrator who is none', async () => {
    const { name } = await emptyDatabase();
    const { applicationUrl } = urlsOf(name, await newLogin(), 'secret');
    await expect(migrate({ adminUrl: applicationUrl, applicationUrl })).rejects.toMatchObject(
      unavailable(/^The administrator's login may not migrate this database: permission denied/),
    );
  });

  it('with a login that may not act as the application', async () => {
    const { applicationUrl } = urlsOf(templateDatabase, await newLogin(), 'secret');
    const refusal = unavailable(/^The login may not act as agent_knowledge_(app|worker)\. Run the migration/);
    await expect(isMigrated(applicationUrl)).rejects.toMatchObject(refusal);
    await expect(JobQueue.open(applicationUrl)).rejects.toMatchObject(refusal);
    await using database = await Database.open({ url: applicationUrl });
    await expect(database.faults()).rejects.toMatchObject(refusal);
    // Callers are told as much as concerns them (T23).
    await expect(database.read((queries) => sql`select 1`.execute(queries))).rejects.toMatchObject(
      unavailable(/^The database does not let this server in; an administrator must look/),
    );
  });

  it('with a database that is not there, and a server that is not', async () => {
    const nowhere = urlsOf('test_nowhere');
    await expect(migrate(nowhere)).rejects.toMatchObject(
      unavailable(/^The server has no such database.* The address is \S+@127\.0\.0\.1:\d+\/test_nowhere\.$/),
    );
    await expect(isMigrated(nowhere.applicationUrl)).rejects.toMatchObject(unavailable(/no such database/));
    // An operator reads where and why, and never the password.
    const nobody = 'postgres://login:secret@127.0.0.1:1/test';
    const refusal = unavailable(
      /^The database cannot be reached at login@127\.0\.0\.1:1\/test: nobody listens/,
    );
    await expect(migrate({ adminUrl: nobody, applicationUrl: nobody })).rejects.toMatchObject(refusal);
    await expect(isMigrated(nobody)).rejects.toMatchObject(refusal);
    await expect(isMigrated('postgres://login:secret@nowhere.invalid/test')).rejects.toMatchObject(
      unavailable(
        /at login@nowhere\.invalid:5432\/test: (there is no such host|the host name cannot be looked up)/,
      ),
    );
    await expect(
      isMigrated(urlsOf(templateDatabase, server.loginUser, 'wrong').applicationUrl),
    ).rejects.toMatchObject(unavailable(/^The database refuses the login: [^]*\/\S+\.$/));
  });
});
