import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findEmbeddedPostgres, startEmbeddedPostgres } from '../../../src/store/embedded-postgres.ts';
import type { Credentials } from '../../../src/store/embedded-postgres/credentials.ts';
import { refuseForeignServer } from '../../../src/store/embedded-postgres/foreign-server.ts';
import { settleClusterPlace } from '../../../src/store/embedded-postgres/cluster-place.ts';
import { killHard, makeScratch, processList, query, startInChild, type Scratch } from './scratch.ts';

let scratch: Scratch;
let dataDir: string;
let cluster: string;

/** One database for most tests, stopped between them. */
beforeAll(async () => {
  scratch = await makeScratch();
  dataDir = path.join(scratch.folder, 'data');
  cluster = path.join(dataDir, 'postgres');
  await using server = await startEmbeddedPostgres({ dataDir });
  await query(server.adminUrl, `create table kept as select 1 as number`);
});

afterAll(async () => {
  await scratch[Symbol.asyncDispose]();
});

describe('the first start', () => {
  it('leaves nothing half made when it is killed in the middle of initdb', async () => {
    const folder = path.join(scratch.folder, 'interrupted');
    const { child, report } = await startInChild(folder);
    report.catch(() => undefined);
    await until(async () => (await found(folder)).some((name) => name.endsWith('pg_control')));
    await killHard(child);
    expect(await found(folder)).not.toContain('postgres.json');

    await using server = await startEmbeddedPostgres({ dataDir: folder });
    expect(server.firstStart).toBe(true);
    const names = (await readdir(folder)).toSorted();
    expect(names).toEqual(['postgres', 'postgres.json', 'postgres.lock', 'postgres.log']);
  });

  it('makes one database where several processes and calls begin at once', async () => {
    const folder = path.join(scratch.folder, 'together');
    const children = await Promise.all([startInChild(folder), startInChild(folder)]);
    const calls = [startEmbeddedPostgres({ dataDir: folder }), startEmbeddedPostgres({ dataDir: folder })];
    const servers = await Promise.all([...calls, ...children.map(({ report }) => report)]);
    await Promise.all(children.map(({ child }) => killHard(child)));
    expect(servers.filter(({ firstStart }) => firstStart)).toHaveLength(1);
    expect(servers.filter(({ adopted }) => adopted)).toHaveLength(3);
    expect(new Set(servers.map(({ pid }) => pid)).size).toBe(1);
    await (await calls[0]!).stop();
    expect(await findEmbeddedPostgres(folder)).toBeNull();
  });
});

describe('a server that outlives its starter', () => {
  it('is adopted by the next start, with its data, and can be stopped by it', async () => {
    const { child, report } = await startInChild(dataDir);
    const { pid, adminUrl = '', adopted } = await report;
    expect(adopted).toBe(false);
    await query(adminUrl, `insert into kept values (2)`);
    await killHard(child);

    const server = await startEmbeddedPostgres({ dataDir });
    expect(server).toMatchObject({ pid, adminUrl, adopted: true, firstStart: false });
    expect(await query(adminUrl, 'select from kept where number = 2')).toHaveLength(1);
    await server.stop();
    expect(await server.exited).toEqual({ code: null, signal: null });
    expect(await findEmbeddedPostgres(dataDir)).toBeNull();
  });

  it('is killed itself: the handle tells, and the next start recovers what was acknowledged', async () => {
    const killed = await startEmbeddedPostgres({ dataDir });
    await query(killed.adminUrl, `insert into kept values (3)`);
    process.kill(killed.pid, 'SIGKILL');
    expect(await killed.exited).toEqual({ code: null, signal: 'SIGKILL' });

    await using server = await startEmbeddedPostgres({ dataDir });
    expect(server.adopted).toBe(false);
    expect(await query(server.adminUrl, 'select from kept where number = 3')).toHaveLength(1);
  });
});

describe('a pid file', () => {
  it('that names a process that is no more does not stop the start', async () => {
    const gone = spawn('true');
    await once(gone, 'exit');
    await writePidFile(gone.pid!);
    await using server = await startEmbeddedPostgres({ dataDir });
    expect(server.adopted).toBe(false);
  });

  it.each(['the same user', 'ourselves'])(
    'that names a sleep of %s does not stop the start',
    async (whose) => {
      const { user } = await settleClusterPlace(dataDir);
      const as = whose === 'ourselves' || user === null ? {} : { uid: user.uid, gid: user.gid };
      const foreign = spawn('sleep', ['300'], { ...as, cwd: '/' });
      try {
        await writePidFile(foreign.pid!);
        await using server = await startEmbeddedPostgres({ dataDir });
        expect(server.adopted).toBe(false);
        expect(foreign.exitCode ?? foreign.signalCode).toBeNull();
        await server.stop();
      } finally {
        foreign.kill();
      }
    },
  );
});

describe('the recorded port', () => {
  it('that another PostgreSQL has refuses the start and says why (R8, T7): nobody takes that one for ours', async () => {
    const elsewhere = path.join(scratch.folder, 'elsewhere');
    await using foreign = await startEmbeddedPostgres({ dataDir: elsewhere });
    const port = Number(new URL(foreign.adminUrl).port);
    const { port: own, systemIdentifier } = await readRecord();
    await changeRecord({ port });
    expect(await findEmbeddedPostgres(dataDir)).toBeNull();
    const refusal = startEmbeddedPostgres({ dataDir });
    await expect(refusal).rejects.toThrow(
      `Another PostgreSQL listens on 127.0.0.1:${port}, where ours was last: expected system identifier ${systemIdentifier}, found a server that does not let our superuser in`,
    );
    await expect(refusal).rejects.toThrow('write a free port into postgres.json');

    await changeRecord({ port: own });
    await using server = await startEmbeddedPostgres({ dataDir });
    expect(server.pid).not.toBe(foreign.pid);
    expect(await query(server.adminUrl, 'select from kept where number = 1')).toHaveLength(1);
  });

  it('that a PostgreSQL with our passwords has, such as a copy of an older day, is refused with both identifiers', async () => {
    await using server = await startEmbeddedPostgres({ dataDir });
    const record = await readRecord();
    const claimed = { ...record, systemIdentifier: '42' } as unknown as Credentials;
    const refusal = refuseForeignServer(claimed, record.port);
    await expect(refusal).rejects.toThrow(`expected system identifier 42, found ${record.systemIdentifier}.`);
    void server;
  });

  it('that another program has is left to it, unless somebody holds the address', async () => {
    const { port } = await readRecord();
    const other = createServer((socket) => socket.on('error', () => undefined).end('220 not a database\r\n'));
    other.listen(port, '127.0.0.1');
    await once(other, 'listening');
    await expect(startEmbeddedPostgres({ dataDir, port })).rejects.toThrow(
      `The port ${port} on 127.0.0.1, at which PostgreSQL is expected, is in use by another program.`,
    );
    await using server = await startEmbeddedPostgres({ dataDir });
    expect(new URL(server.adminUrl).port).not.toBe(String(port));
    await expect(startEmbeddedPostgres({ dataDir, port })).rejects.toThrow(`was expected on port ${port}`);
    other.close();
  });

  it('gives the password to nobody who asks for it in clear', async () => {
    const received: Buffer[] = [];
    const thief = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => socket.write(Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 3])));
      socket.on('data', (chunk: Buffer) => received.push(chunk));
    });
    thief.listen(0, '127.0.0.1');
    await once(thief, 'listening');
    await changeRecord({ port: (thief.address() as AddressInfo).port });
    expect(await findEmbeddedPostgres(dataDir)).toBeNull();
    thief.close();
    expect(received.length).toBeGreaterThan(0);
    expect(Buffer.concat(received).toString('latin1')).not.toContain((await readRecord()).login.password);
  });
});

describe('another database than last time', () => {
  it('is refused, naming both identifiers, also while the server runs', async () => {
    const { systemIdentifier } = await readRecord();
    const server = await startEmbeddedPostgres({ dataDir });
    await changeRecord({ systemIdentifier: '42' });
    const refusal = startEmbeddedPostgres({ dataDir });
    await expect(refusal).rejects.toThrow(/system identifier 42 /);
    await expect(refusal).rejects.toThrow(systemIdentifier);
    expect(await findEmbeddedPostgres(dataDir)).toBeNull();
    await changeRecord({ systemIdentifier });
    await server.stop();
  });

  it('is refused where its own password is not the recorded one, and left as it was', async () => {
    const file = path.join(cluster, 'agent-knowledge.json');
    const credentials = await readFile(file, 'utf8');
    const { password } = (await readRecord()).superuser;
    await writeFile(file, credentials.replace(password, 'another'));
    await expect(startEmbeddedPostgres({ dataDir })).rejects.toThrow(/did not let our superuser in/);
    await writeFile(file, credentials);
    expect((await processList()).filter(({ command }) => command.includes(cluster))).toEqual([]);
  });

  it('is refused where there is none any more', async () => {
    const folder = path.join(scratch.folder, 'moved');
    await mkdir(folder);
    await writeFile(path.join(folder, 'postgres.json'), JSON.stringify(await readRecord()));
    await expect(startEmbeddedPostgres({ dataDir: folder })).rejects.toThrow(
      /expects the database .* found none in .*moved/,
    );
  });

  it.each([
    ['PG_VERSION', '17\n', /made by PostgreSQL 17, and this build brings PostgreSQL 18/],
    ['PG_VERSION', '18\n', /not one of this product/],
    ['letter.txt', 'hello', /expected a PostgreSQL cluster, found other files/],
  ])('is refused where %s holds %j', async (name, content, message) => {
    const folder = path.join(scratch.folder, `refused-${content.trim()}`);
    await mkdir(path.join(folder, 'postgres'), { recursive: true });
    await writeFile(path.join(folder, 'postgres', name), content);
    await expect(startEmbeddedPostgres({ dataDir: folder })).rejects.toThrow(message);
  });
});

interface RecordOfServer {
  readonly port: number;
  readonly systemIdentifier: string;
  readonly superuser: { password: string };
  readonly login: { password: string };
}

async function readRecord(): Promise<RecordOfServer> {
  return JSON.parse(await readFile(path.join(dataDir, 'postgres.json'), 'utf8')) as RecordOfServer;
}

async function changeRecord(change: Partial<RecordOfServer>): Promise<void> {
  const record = { ...(await readRecord()), ...change };
  await writeFile(path.join(dataDir, 'postgres.json'), JSON.stringify(record));
}

async function writePidFile(pid: number): Promise<void> {
  const { port } = await readRecord();
  const lines = [pid, cluster, 1_700_000_000, port, '', '127.0.0.1', ' 1 1', 'ready   ', ''];
  const file = path.join(cluster, 'postmaster.pid');
  await writeFile(file, lines.join('\n'));
  const { uid, gid } = await stat(cluster);
  await chown(file, uid, gid);
}

async function found(folder: string): Promise<string[]> {
  return await readdir(folder, { recursive: true }).catch(() => []);
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) {
    await sleep(5);
  }
}
