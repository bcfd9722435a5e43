import { chmod, copyFile, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { withClient } from '../support/database.ts';
import {
  askGraphql,
  eventually,
  processesNaming,
  runCommand,
  type RunningCommand,
} from '../support/processes.ts';
import { databaseUrl, readSuperuserUrl } from '../support/test-server.ts';
import { killIfThere, isRunning } from '../support/watched-processes.ts';

/* R8, F14–F18: the embedded PostgreSQL under `npm start`. */

const isLong = process.env['AGENT_KNOWLEDGE_TEST_LONG'] === '1';

let folder: string;
let dataDir: string;
let registryPath: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ak-embedded-'));
  await chmod(folder, 0o755); // So that the database's user gets there.
  dataDir = join(folder, 'the data');
  registryPath = join(folder, 'registry.json');
  await copyFile(join(import.meta.dirname, '../../config/agent_knowledge_registry.json'), registryPath);
});
afterEach(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));

/** `npm start` without LANG and LC_ALL, and at umask 000, as the careless would have it. */
function start(): RunningCommand {
  const umask = process.umask(0);
  try {
    return runCommand(['start'], {
      env: {
        AGENT_KNOWLEDGE_DATA_DIR: dataDir,
        AGENT_KNOWLEDGE_REGISTRY_PATH: registryPath,
        AGENT_KNOWLEDGE_PORT: '0',
        AGENT_KNOWLEDGE_SETTLE: 'fast',
        AGENT_KNOWLEDGE_RESYNC_SECONDS: '1',
      },
    });
  } finally {
    process.umask(umask);
  }
}

async function ready(started: RunningCommand): Promise<{ url: string; dataDir: string }> {
  const [, url = ''] = await started.until(/GraphQL\s+(http\S+)[\s\S]*Ctrl-C stops everything/, 90_000);
  return { url, dataDir };
}

async function postmaster(): Promise<number> {
  return Number((await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8')).split('\n')[0]);
}

/** The server and every session of it. */
async function serverProcesses(): Promise<number[]> {
  const parent = await postmaster();
  const children = [parent];
  for (const name of await readdir('/proc')) {
    const line = await readFile(`/proc/${name}/stat`, 'latin1').catch(() => '');
    if (Number(line.split(') ')[1]?.split(' ')[1]) === parent) children.push(Number(name));
  }
  return children;
}

const activeVersion = '{ activeVersion(agentKey: "intake_triage") { knowledgeVersion files { content } } }';

test('npm start keeps its PostgreSQL to itself, brings it back from every death on the same port, and goes on by itself (R8, F16, F18)', async () => {
  const started = start();
  await using _started = started;
  const server = await ready(started);
  await started.until(/v1 is active/);
  await assertPrivate(await readFile(join(dataDir, 'admin-key'), 'utf8'));
  await assertEncoding();

  const port = new URL(await readSuperuserUrl(dataDir)).port;
  const deaths = [
    { what: 'the server and all its sessions', victims: serverProcesses },
    { what: 'the server alone', victims: async () => [await postmaster()] },
  ];
  for (const [index, { victims }] of deaths.entries()) {
    const dead = await victims();
    for (const id of dead) killIfThere(id);
    await started.until(
      new RegExp(`(PostgreSQL ended[\\s\\S]*PostgreSQL is back\\.[\\s\\S]*){${index + 1}}`),
      60_000,
    );
    await eventually(
      () => askGraphql<{ activeVersion: { knowledgeVersion: string } }>(server, activeVersion),
      (answer) => answer.activeVersion.knowledgeVersion === 'v1',
    );
    expect(new URL(await readSuperuserUrl(dataDir)).port).toBe(port);
    expect(dead).not.toContain(await postmaster());
  }
  // The daemon goes on as well, and so does the lock against a second start.
  const answer = await askGraphql<{ refresh: { outcome: string } }>(
    server,
    'mutation { refresh(agentKey: "intake_triage", waitSeconds: 30) { outcome } }',
  );
  expect(answer.refresh.outcome).toBe('UNCHANGED');
  await eventually(
    async () => {
      const { rows } = await asSuperuser(
        `select count(*)::int as held from pg_locks where locktype = 'advisory' and objid = 4104118202`,
      );
      return rows[0].held as number;
    },
    (held) => held === 1,
  );
  expect(started.stderr()).toBe('');
  // Each death was told in one line, and what was stopped on purpose does not come back.
  for (const told of [/PostgreSQL ended/g, /PostgreSQL is back/g]) {
    expect(started.stdout().match(told)).toHaveLength(deaths.length);
  }
  await assertToldOnce(started);
  expect(await started.end('SIGINT')).toBe(0);
  expect(await processesNaming(dataDir)).toEqual([]);
}, 180_000);

/** What is refused is told in a person's words, once for as long as it stands, and so is its end. */
async function assertToldOnce(started: RunningCommand): Promise<void> {
  const good = await readFile(registryPath);
  await writeFile(registryPath, '{ "registry_version": ');
  await started.until(/registry refused: .*\n.*the last good registry stays in force/);
  await writeFile(registryPath, good);
  await started.until(/the registry is accepted again/);

  const shared = join(dataDir, 'knowledge', '00 Shared Agent Knowledge');
  const file = join(shared, (await readdir(shared))[0] ?? '');
  await rename(file, `${file}.away`);
  await started.until(/intake_triage \(production\): refused/);
  await new Promise((resolve) => setTimeout(resolve, 2500)); // Two looks of the timer, which must tell nothing.
  await rename(`${file}.away`, file);
  await started.until(/intake_triage \(production\): .* mended\./);
  expect(started.stdout().match(/intake_triage \(production\): refused/g)).toHaveLength(1);
  expect(started.stderr()).toBe('');
}

async function assertPrivate(key: string): Promise<void> {
  const id = await postmaster();
  const environment = (await readFile(`/proc/${id}/environ`, 'utf8')).split('\0').filter(Boolean);
  expect(environment.toSorted()).toEqual(['LANG=C', 'LC_ALL=C', 'PATH=/usr/bin:/bin', 'TZ=UTC']);
  const record = await readFile(join(dataDir, 'postgres.json'), 'utf8');
  const secrets = [key, ...[...record.matchAll(/"password": "([^"]+)"/g)].map(([, secret = '']) => secret)];
  expect(secrets).toHaveLength(4);
  for (const process of await processesNaming(dataDir)) {
    const line = await readFile(`/proc/${process}/cmdline`, 'utf8').catch(() => '');
    for (const secret of secrets) expect(line).not.toContain(secret);
  }
  const log = await readFile(join(dataDir, 'postgres.log'), 'utf8');
  for (const secret of secrets) expect(log).not.toContain(secret);
  // The knowledge folder is the person's own; everything else is nobody's but ours.
  expect((await stat(dataDir)).mode & 0o777).toBe(0o700);
  for (const name of (await readdir(dataDir)).filter((entry) => entry !== 'knowledge')) {
    const found = await stat(join(dataDir, name));
    expect([name, found.mode & 0o777]).toEqual([name, found.isDirectory() ? 0o700 : 0o600]);
  }
}

async function assertEncoding(): Promise<void> {
  const { rows } = await asSuperuser(`select pg_encoding_to_char(encoding) as encoding, datlocale as locale,
    (select array_agg(distinct type || ' ' || auth_method order by type || ' ' || auth_method) from pg_hba_file_rules) as rules,
    current_setting('unix_socket_directories') as sockets, current_setting('listen_addresses') as addresses,
    (select count(*)::int from pg_stat_activity a join pg_roles r on r.oid = a.usesysid
      where r.rolsuper and a.pid <> pg_backend_pid() and a.backend_type = 'client backend') as superusers
    from pg_database where datname = current_database()`);
  expect(rows).toEqual([
    {
      encoding: 'UTF8',
      locale: 'C.UTF-8',
      rules: ['host scram-sha-256', 'local reject'],
      sockets: '',
      addresses: '127.0.0.1',
      superusers: 0,
    },
  ]);
}

async function asSuperuser(sql: string) {
  return withClient(databaseUrl(await readSuperuserUrl(dataDir), 'agent_knowledge'), (client) =>
    client.query(sql),
  );
}

if (isLong)
  describe('in the long form', () => {
    test('a server whose port another program takes while it is down waits for it in words, and comes back (R8)', async () => {
      const started = start();
      await using _started = started;
      const server = await ready(started);
      await started.until(/v1 is active/);
      const { createServer } = await import('node:net');
      const port = Number(new URL(await readSuperuserUrl(dataDir)).port);
      const thief = createServer();
      process.kill(await postmaster(), 'SIGKILL');
      await eventually(
        () =>
          new Promise<boolean>((resolve, reject) =>
            thief.once('error', reject).listen(port, '127.0.0.1', () => resolve(true)),
          ),
        (taken) => taken,
        10_000,
        5,
      );
      await started.until(
        new RegExp(`does not come back yet: .*port ${port}.*in use by another program`),
        30_000,
      );
      thief.close();
      await started.until(/PostgreSQL is back/, 60_000);
      await eventually(
        () => askGraphql<{ activeVersion: { knowledgeVersion: string } }>(server, activeVersion),
        (answer) => answer.activeVersion.knowledgeVersion === 'v1',
      );
      expect(await started.end('SIGINT')).toBe(0);
    }, 180_000);

    test('deaths of the server one right after the other are survived, and a kill -9 of start leaves the server to the next one (F14, F16)', async () => {
      const started = start();
      await using _started = started;
      const server = await ready(started);
      await started.until(/v1 is active/);
      for (let round = 1; round <= 6; round += 1) {
        for (const id of await serverProcesses()) killIfThere(id);
        await started.until(new RegExp(`(PostgreSQL is back\\.[\\s\\S]*){${round}}`), 90_000);
        await eventually(
          () => askGraphql<{ activeVersion: { knowledgeVersion: string } }>(server, activeVersion),
          (answer) => answer.activeVersion.knowledgeVersion === 'v1',
        );
      }
      const orphan = await postmaster();
      await started.end('SIGKILL');
      await eventually(
        async () => (await processesNaming('AGENT_KNOWLEDGE_DATA_DIR=' + dataDir)).length,
        (count) => count === 0,
      );
      expect(isRunning(orphan)).toBe(true);
      const next = start();
      await using _next = next;
      await ready(next);
      expect(await postmaster()).toBe(orphan);
      expect(await next.end('SIGINT')).toBe(0);
    }, 300_000);
  });
