import { appendFile, readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  findEmbeddedPostgres,
  startEmbeddedPostgres,
  type EmbeddedPostgres,
} from '../../src/store/embedded-postgres.ts';
import { locateBinaries } from '../../src/store/embedded-postgres/binaries.ts';
import { settleClusterPlace } from '../../src/store/embedded-postgres/cluster-place.ts';
import { runProgram } from '../../src/store/embedded-postgres/program.ts';
import { isRoot } from '../../src/store/embedded-postgres/system-user.ts';
import { makeScratch, query, superuserUrl, type Scratch } from './embedded-postgres/scratch.ts';

const isLinux = process.platform === 'linux';
const canary = 'canary-7d1f';

let scratch: Scratch;
let dataDir: string;
let server: EmbeddedPostgres;
let superuser: string;
const lines: string[] = [];

/** R8: no locale, umask 000, a secret in the environment, and a path that a shell would trip over. */
beforeAll(async () => {
  scratch = await makeScratch();
  dataDir = path.join(scratch.folder, `knowledge däta;$(touch x)'"`);
  const before = { umask: process.umask(0), LANG: process.env['LANG'], LC_ALL: process.env['LC_ALL'] };
  delete process.env['LANG'];
  delete process.env['LC_ALL'];
  process.env['AGENT_KNOWLEDGE_GRAPH_TOKEN'] = canary;
  try {
    server = await startEmbeddedPostgres({ dataDir, onLine: (line) => lines.push(line) });
  } finally {
    process.umask(before.umask);
    restoreEnvironment('LANG', before.LANG);
    restoreEnvironment('LC_ALL', before.LC_ALL);
    delete process.env['AGENT_KNOWLEDGE_GRAPH_TOKEN'];
  }
  superuser = await superuserUrl(dataDir);
});

afterAll(async () => {
  await server.stop();
  await scratch[Symbol.asyncDispose]();
});

describe('a first start', () => {
  it('creates the database and says so, without a password', async () => {
    expect(server.firstStart).toBe(true);
    expect(server.adopted).toBe(false);
    const record = JSON.parse(await readFile(path.join(dataDir, 'postgres.json'), 'utf8')) as {
      clusterDir: string;
    };
    expect(record.clusterDir).toBe(path.join(dataDir, 'postgres'));
    expect(lines.join('\n')).toContain(`process ${server.pid}`);
    for (const url of [server.adminUrl, server.applicationUrl, superuser]) {
      const { password } = new URL(url);
      expect(Buffer.from(password, 'base64url')).toHaveLength(32);
      expect(lines.join('\n')).not.toContain(password);
    }
  });

  it('keeps text in UTF-8 with the built-in C.UTF-8 locale, and checksums its pages', async () => {
    const sql = `select pg_encoding_to_char(encoding) as encoding, datlocprovider as provider, datlocale as locale,
      current_setting('data_checksums') as checksums, char_length('é') as length
      from pg_database where datname = current_database()`;
    expect(await query(server.applicationUrl, sql)).toEqual([
      { encoding: 'UTF8', provider: 'b', locale: 'C.UTF-8', checksums: 'on', length: 1 },
    ]);
  });

  it('has a control: without the encoding, initdb makes a SQL_ASCII database where no locale is set', async () => {
    const place = await settleClusterPlace(dataDir);
    const binaries = await locateBinaries(place);
    const target = path.join(path.dirname(place.clusterDir), 'control');
    const without = await runProgram(binaries.initdb, ['--no-sync', '-D', target], { user: place.user });
    expect(without.output).toContain('set to "SQL_ASCII"');
  });

  it('lets in by SCRAM over loopback only', async () => {
    const rules = await query<{ type: string; method: string }>(
      superuser,
      `select distinct type, auth_method as method from pg_hba_file_rules order by 1`,
    );
    expect(rules).toEqual([
      { type: 'host', method: 'scram-sha-256' },
      { type: 'local', method: 'reject' },
    ]);
    const stored = await query(
      superuser,
      `select bool_and(rolpassword like 'SCRAM-SHA-256$%') as scram, count(*)::int as roles from pg_authid where rolcanlogin`,
    );
    expect(stored).toEqual([{ scram: true, roles: 3 }]);
    const wrong = new URL(server.applicationUrl);
    wrong.password = 'wrong';
    await expect(query(wrong.href, 'select 1')).rejects.toMatchObject({ code: '28P01' });
  });

  it('gives no superuser away: the admin owns the database, the login role owns nothing', async () => {
    const sql = `select rolname as name, rolsuper as super, rolcreaterole as createrole, rolcreatedb as createdb,
      rolbypassrls as bypass, exists (select from pg_shdepend where refobjid = r.oid and deptype = 'o') as owns
      from pg_roles r where rolname = current_user`;
    const powerless = { super: false, createdb: false, bypass: false };
    expect(await query(server.adminUrl, sql)).toEqual([
      { name: 'agent_knowledge_admin', createrole: true, owns: true, ...powerless },
    ]);
    expect(await query(server.applicationUrl, sql)).toEqual([
      { name: 'agent_knowledge_login', createrole: false, owns: false, ...powerless },
    ]);
    await expect(query(server.applicationUrl, `copy (select 1) to program 'true'`)).rejects.toMatchObject({
      code: '42501',
    });
  });

  it('promises durability and quiet logs above every file', async () => {
    await query(superuser, `alter system set fsync = off`);
    await query(superuser, `alter system set log_statement = 'all'`);
    await query(superuser, `select pg_reload_conf()`);
    const names = Object.keys(promised).map((name) => `'${name}'`);
    const found = await query<{ name: string; setting: string }>(
      superuser,
      `select name, setting from pg_settings where name in (${names.join(',')})`,
    );
    await query(superuser, `alter system reset all`);
    expect(Object.fromEntries(found.map(({ name, setting }) => [name, setting]))).toEqual(promised);
  });

  it('writes no value into its log', async () => {
    await query(server.adminUrl, `create table note (body text primary key check (body <> '${canary}'))`);
    const insert = `insert into note values ('${canary}')`;
    await expect(query(server.adminUrl, insert)).rejects.toMatchObject({ code: '23514' });
    const log = await readFile(path.join(dataDir, 'postgres.log'), 'utf8');
    expect(log).toContain('violates check constraint');
    expect(log).not.toContain(canary);
  });

  it('makes folders 0700 and files 0600 at umask 000', async () => {
    const wide = (await modesBelow(dataDir)).filter(
      ({ isFolder, mode }) => mode !== (isFolder ? 0o700 : 0o600),
    );
    expect(wide).toEqual([]);
  });

  it('ran no shell over its path', async () => {
    expect(await readdir(scratch.folder)).toEqual([path.basename(dataDir)]);
    await expect(stat(path.join(process.cwd(), 'x'))).rejects.toMatchObject({ code: 'ENOENT' });
  });
});

if (isLinux)
  describe('the server process', () => {
    it('knows nothing of our environment', async () => {
      const environment = (await readFile(`/proc/${server.pid}/environ`, 'utf8')).split('\0').filter(Boolean);
      expect(environment.toSorted()).toEqual(['LANG=C', 'LC_ALL=C', 'PATH=/usr/bin:/bin', 'TZ=UTC']);
    });

    it('is not root, and has no group but its own', async () => {
      const status = await readFile(`/proc/${server.pid}/status`, 'utf8');
      const uids = /^Uid:\s+(.*)$/m.exec(status)?.[1]?.split('\t').map(Number) ?? [];
      expect(new Set(uids).size).toBe(1);
      expect(uids[0]).not.toBe(0);
      if (isRoot()) {
        expect(/^Groups:\s*$/m.test(status)).toBe(true);
      } else {
        expect(uids[0]).toBe(process.getuid?.());
      }
    });

    it('leads a session of its own, so that Ctrl-C does not reach it', async () => {
      const fields = (await readFile(`/proc/${server.pid}/stat`, 'utf8')).split(') ')[1]!.split(' ');
      expect(Number(fields[3])).toBe(server.pid);
    });
  });

describe('a server that was stopped', () => {
  it('is gone, is found again by nobody, and brings its data and its port back', async () => {
    await query(server.adminUrl, `create table kept as select 'ä' as letter`);
    expect(await findEmbeddedPostgres(dataDir)).toEqual({
      adminUrl: server.adminUrl,
      applicationUrl: server.applicationUrl,
    });
    await server.stop();
    await server.stop();
    expect(await server.exited).toEqual({ code: 0, signal: null });
    expect(await findEmbeddedPostgres(dataDir)).toBeNull();

    const again = await startEmbeddedPostgres({ dataDir });
    const { adminUrl } = server;
    server = again;
    expect(again).toMatchObject({ adminUrl, firstStart: false, adopted: false });
    expect(await query(adminUrl, 'select letter from kept')).toEqual([{ letter: 'ä' }]);
  });

  it('begins a new log where the old one has grown, and keeps that', async () => {
    const log = path.join(dataDir, 'postgres.log');
    await server.stop();
    await appendFile(log, 'x'.repeat(1_100_000));
    server = await startEmbeddedPostgres({ dataDir });
    expect((await stat(`${log}.1`)).size).toBeGreaterThan(1_100_000);
    expect((await stat(log)).size).toBeLessThan(10_000);
    expect((await stat(log)).mode & 0o777).toBe(0o600);
  });

  it('is nowhere where none was ever started', async () => {
    expect(await findEmbeddedPostgres(path.join(scratch.folder, 'never'))).toBeNull();
  });
});

const promised = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  fsync: 'on',
  full_page_writes: 'on',
  synchronous_commit: 'on',
  log_lock_waits: 'on',
  log_statement: 'none',
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  client_connection_check_interval: '2000',
  max_connections: '100',
  shared_buffers: '16384',
};

async function modesBelow(folder: string): Promise<{ file: string; isFolder: boolean; mode: number }[]> {
  const files = ['', ...(await readdir(folder, { recursive: true }))].map((name) => path.join(folder, name));
  const found = await Promise.all(
    files.map(async (file) => {
      const seen = await stat(file).catch(() => null); // The server removes files while we look.
      return seen && { file, isFolder: seen.isDirectory(), mode: seen.mode & 0o777 };
    }),
  );
  return found.filter((entry) => entry !== null);
}

function restoreEnvironment(name: string, value: string | undefined): void {
  if (value !== undefined) {
    process.env[name] = value;
  }
}
