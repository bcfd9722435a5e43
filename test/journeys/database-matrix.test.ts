import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { startOwnServer, type OwnServer } from '../support/own-server.ts';
import { ask, faultsOf, startProbe, type Answer } from '../support/probe.ts';
import { eventually, type RunningCommand } from '../support/processes.ts';
import { childrenOf, killIfThere } from '../support/watched-processes.ts';

/* The database's rows of the fault matrix, on real processes: F16–F20, F25, F26 (reliability.md 4). */

/** A caller waits two seconds for a connection at most; the rest is for a machine that is busy with other things. */
const patientMs = 6000;

let own: OwnServer;
let api: { command: RunningCommand; url: string };
let daemon: RunningCommand;

beforeAll(async () => {
  own = await startOwnServer(['alpha', 'other']);
  daemon = await own.startDaemon();
  api = await own.startApi();
}, 120_000);
afterAll(() => own[Symbol.asyncDispose]());

const readOther = '{ activeVersion(agentKey: "other") { knowledgeVersion checksum } }';
const activate = (agent: string) =>
  `mutation { activate(agentKey: "${agent}", knowledgeVersion: "v1") { generation } }`;

/** Reads `other` all the while; fails unless each answer is data or UNAVAILABLE in time, and the last ones are data. */
async function whileReading(trouble: () => Promise<void>): Promise<readonly Answer[]> {
  const probe = startProbe(api.url, readOther);
  await probe.untilServed();
  await trouble();
  await probe.untilServed();
  const answers = await probe.stop();
  expect(faultsOf(answers, patientMs)).toEqual([]);
  return answers;
}

/** Whoever lost the database must find it again without a new process, and still make versions (guarantee 7). */
async function goesOn(text: string): Promise<void> {
  await own.save('alpha', text);
  const query =
    'mutation { refresh(agentKey: "alpha", waitSeconds: 30) { state outcome matchingVersion version { knowledgeVersion } } }';
  let answer = await ask(api.url, query);
  for (let attempt = 0; answer.codes.length > 0 && attempt < 30; attempt += 1) {
    await new Promise((resolve) => setTimeout(resolve, 500));
    answer = await ask(api.url, query);
  }
  expect(answer.data?.['refresh']).toMatchObject({ state: 'DONE' });
  expect([api.command.process.exitCode, daemon.process.exitCode]).toEqual([null, null]);
}

const killServer = async (signal: NodeJS.Signals) => {
  const ended = own.postgres.exited;
  process.kill(own.postgres.pid, signal);
  await ended;
};

/** The server processes of the sessions, none of the server's own workers. */
const backends = () =>
  own.asSuperuser(async (client) => {
    const { rows } = await client.query<{ pid: number }>(
      `select pid from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()`,
    );
    return rows.map((row) => row.pid);
  });

describe('the controls', () => {
  const good: Answer = { tookMs: 1, status: 200, retryAfter: null, data: {}, codes: [], messages: [] };
  const away: Answer = { ...good, data: null, codes: ['UNAVAILABLE'], retryAfter: '1' };
  test.each<[string, Answer, number]>([
    ['an answer with data', good, 0],
    ['a refusal with a time to come back', away, 0],
    ['an unexpected error', { ...away, codes: ['INTERNAL'] }, 1],
    ['a refusal without a time to come back', { ...away, retryAfter: null }, 1],
    ['a time to come back that is far away', { ...away, retryAfter: '30' }, 1],
    ['an answer that holds nothing', { ...good, data: null }, 1],
    ['a late answer', { ...good, tookMs: patientMs + 1 }, 1],
  ])('%s is judged as it should be', (_, answer, faults) => {
    expect(faultsOf([good, answer], patientMs)).toHaveLength(faults);
  });

  test('a pool without an error listener dies with its first idle connection, as finding 19 says (F20)', async () => {
    const script = `
      import pg from 'pg';
      const pool = new pg.Pool({ connectionString: process.argv[1] });
      const { rows } = await pool.query('select pg_backend_pid() as pid');
      console.log(rows[0].pid);
      setTimeout(() => undefined, 20_000);
    `;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script, own.postgres.adminUrl], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const ended = new Promise<number | null>((resolve) => child.on('exit', resolve));
    const pid = await new Promise<number>((resolve) =>
      child.stdout.once('data', (text) => resolve(Number(text))),
    );
    await own.asSuperuser((client) => client.query('select pg_terminate_backend($1)', [pid]));
    expect(await ended).not.toBe(0);
  });
});

describe('the API and the daemon', () => {
  test('live through the server and all its backends being killed (F16)', async () => {
    await whileReading(async () => {
      const all = [own.postgres.pid, ...(await childrenOf(own.postgres.pid))];
      for (const pid of all) killIfThere(pid);
      await own.postgres.exited;
      await own.startPostgres();
    });
    await goesOn('after everything was killed');
  }, 90_000);

  test('live through one backend being killed, which makes the server end all sessions (F17)', async () => {
    const answers = await whileReading(async () => {
      const [victim] = await backends();
      process.kill(victim!, 'SIGKILL');
      await new Promise((resolve) => setTimeout(resolve, 300));
    });
    expect(answers.length).toBeGreaterThan(3);
    await goesOn('after one backend was killed');
  }, 90_000);

  test('live through the postmaster alone being killed (F18)', async () => {
    await whileReading(async () => {
      await killServer('SIGKILL');
      await own.startPostgres();
    });
    await goesOn('after the postmaster was killed');
  }, 90_000);

  test('live through a fast restart (F19)', async () => {
    await whileReading(async () => {
      await killServer('SIGINT');
      await own.startPostgres();
    });
    await goesOn('after a fast restart');
  }, 90_000);

  test('live through every idle connection being ended (F20)', async () => {
    await whileReading(async () => {
      await own.asSuperuser((client) =>
        client.query(
          `select pg_terminate_backend(pid) from pg_stat_activity where usename is not null and pid <> pg_backend_pid()`,
        ),
      );
    });
    await goesOn('after all connections were ended');
  }, 90_000);

  test('say UNAVAILABLE while others hold every connection, and serve at once when they let go (F25)', async () => {
    const hoarders: Client[] = [];
    const answers = await whileReading(async () => {
      await takeEveryPlace(hoarders);
      // The pools' own connections end too, and there is no place to come back to.
      await own.asSuperuser(async (client) => {
        const database = client.escapeIdentifier(new URL(own.postgres.adminUrl).pathname.slice(1));
        await client.query(`alter database ${database} connection limit ${hoarders.length}`);
        await client.query(
          `select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'agent-knowledge%'`,
        );
        await new Promise((resolve) => setTimeout(resolve, 1500));
        await client.query(`alter database ${database} connection limit -1`);
      });
      await Promise.all(hoarders.map((client) => client.end()));
    });
    expect(hoarders.length).toBeGreaterThan(50);
    expect(answers.some((answer) => answer.codes.includes('UNAVAILABLE'))).toBe(true);
    await goesOn('after the connections were given back');
  }, 90_000);

  test('refuse changes of one package that is locked, and nothing of the others (F26)', async () => {
    const client = new Client({ connectionString: own.postgres.adminUrl });
    await client.connect();
    onTestFinished(() => client.end());
    await client.query('begin');
    await client.query(`select from agent_knowledge.package where agent_key = 'alpha' for update`);
    const changes = ask(api.url, activate('alpha'));
    const others = await Promise.all([
      ask(api.url, activate('other')),
      ask(api.url, readOther),
      ask(api.url, '{ activeVersion(agentKey: "alpha") { knowledgeVersion } }'),
    ]);
    expect(others.flatMap((answer) => answer.codes)).toEqual([]);
    const refused = await changes;
    expect(refused).toMatchObject({ codes: ['UNAVAILABLE'], retryAfter: '1' });
    expect(refused.messages[0]).toContain('Another change of this package is under way');
    await client.query('rollback');
    expect((await ask(api.url, activate('alpha'))).codes).toEqual([]);
    await goesOn('after the lock');
  }, 90_000);
});

test('a corrupted page makes one package INTERNAL, in words that show nothing, and the others are served (F34)', async () => {
  await goesOn(randomBytes(60_000).toString('base64'));
  const [file, block] = await own.asSuperuser(async (client) => {
    const found = await client.query<{ file: string; toast: string }>(
      `select pg_relation_filepath(t.oid) as file, t.oid::regclass::text as toast
         from pg_class c join pg_class t on t.oid = c.reltoastrelid where c.oid = 'agent_knowledge.blob'::regclass`,
    );
    const { rows } = await client.query<{ block: number }>(
      `select (ctid::text::point)[0]::integer as block from ${found.rows[0]?.toast} order by chunk_id desc, chunk_seq limit 1`,
    );
    await client.query('checkpoint');
    return [found.rows[0]!.file, rows[0]!.block] as const;
  });
  await killServer('SIGINT');
  const heap = await open(join(own.folder, 'postgres', file), 'r+');
  await heap.write(randomBytes(1024), 0, 1024, block * 8192 + 4096);
  await heap.close();
  await own.startPostgres();

  const read = (agent: string) =>
    ask(api.url, `{ activeVersion(agentKey: "${agent}") { files { relativePath content } } }`);
  const served = await eventually(
    () => read('other'),
    (answer) => answer.codes.length === 0,
  );
  expect(JSON.stringify(served.data)).toContain('other.md');
  const refused = await read('alpha');
  expect(refused.codes).toEqual(['INTERNAL']);
  expect(refused.messages[0]).not.toMatch(/page|block|relation|checksum/);
}, 90_000);

/** Connects until the server refuses, as it does when `max_connections` is reached. */
async function takeEveryPlace(hoarders: Client[]): Promise<void> {
  for (;;) {
    const client = new Client({ connectionString: own.postgres.applicationUrl });
    client.on('error', () => undefined);
    try {
      await client.connect();
    } catch {
      return;
    }
    hoarders.push(client);
  }
}
