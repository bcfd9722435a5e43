import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startEmbeddedPostgres } from '../src/store/embedded-postgres.ts';
import { CrashStage } from '../test/support/crash/crash-stage.ts';
import { killServer, untilGone } from '../test/support/crash/server-processes.ts';
import { withClient } from '../test/support/database.ts';
import { eventually } from '../test/support/processes.ts';
import { compared, median, type Bench, type Figure } from './harness.ts';

const rounds = 5;
const agent = 'alpha';

/** Each way to die or be cut off, with what it takes to start again; times run from the moment of the kill. */
const drills: Readonly<Record<string, (stage: CrashStage) => Promise<void>>> = {
  'kill -9 of the whole database': (stage) => stage.kill('database'),
  'kill -9 of one backend': (stage) => stage.kill('backend'),
  'kill -9 of the postmaster': (stage) => stage.kill('postmaster'),
  'kill -9 of the API': (stage) => stage.kill('api'),
  'kill -9 of the daemon': (stage) => stage.kill('daemon'),
  'every connection terminated': terminateAll,
};

/**
 * How long until the pointer can be read again, and until a save made at the moment of the kill can be read, against a
 * bare PostgreSQL that is killed and started again in the same run (R1's drills, one by one, with nothing else going on).
 */
export const recovery: Bench = {
  name: 'recovery',
  async run(): Promise<readonly Figure[]> {
    const bare = { name: 'PostgreSQL alone, killed and started', value: median(await timeBare()) };
    const options = { agents: [agent], files: ['a.md'], clients: ['bench'] };
    await using stage = await CrashStage.open(options);
    const figures: Figure[] = [];
    for (const [name, strike] of Object.entries(drills)) {
      const read: number[] = [];
      const captured: number[] = [];
      for (let round = 0; round < rounds; round += 1) {
        const times = await timeDrill(stage, strike, `${name} ${round}`);
        read.push(times.read);
        captured.push(times.captured);
      }
      figures.push(
        compared(`${name}: read again, p50`, median(read), 'ms', bare),
        { name: `${name}: read again, max`, value: Math.max(...read), unit: 'ms' },
        compared(`${name}: save captured, p50`, median(captured), 'ms', bare),
        { name: `${name}: save captured, max`, value: Math.max(...captured), unit: 'ms' },
      );
    }
    return figures;
  },
};

async function timeBare(): Promise<number[]> {
  const dataDir = await mkdtemp(join(tmpdir(), 'ak-bench-'));
  await chmod(dataDir, 0o755);
  let postgres = await startEmbeddedPostgres({ dataDir });
  const times: number[] = [];
  try {
    for (let round = 0; round < rounds; round += 1) {
      await withClient(postgres.adminUrl, (client) =>
        client.query('create table if not exists kept (id int)'),
      );
      const killedAt = performance.now();
      killServer(postgres.pid);
      await untilGone(postgres.pid);
      postgres = await startEmbeddedPostgres({ dataDir });
      await withClient(postgres.adminUrl, (client) => client.query('select from kept'));
      times.push(performance.now() - killedAt);
    }
    return times;
  } finally {
    await postgres.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
}

async function timeDrill(
  stage: CrashStage,
  strike: (stage: CrashStage) => Promise<void>,
  text: string,
): Promise<{ read: number; captured: number }> {
  const before = await generation(stage);
  await sleep(300 + Math.random() * 300);
  const killedAt = performance.now();
  await strike(stage);
  const since = async (isRight: (generation: number) => boolean) => {
    await eventually(() => generation(stage), isRight, 60_000, 5);
    return performance.now() - killedAt;
  };
  const [read, captured] = await Promise.all([
    since(() => true),
    since((now) => now > before),
    stage.save(`${agent}/a.md`, `# Alpha\n\n${text}\n`),
    stage.revive(),
  ]);
  return { read, captured };
}

async function generation(stage: CrashStage): Promise<number> {
  const response = await fetch(`${stage.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${stage.keys.get('bench')}` },
    body: JSON.stringify({ query: `{ activeVersion(agentKey: "${agent}") { generation } }` }),
    signal: AbortSignal.timeout(5000),
  });
  const answer = (await response.json()) as { data?: { activeVersion: { generation: number } } | null };
  if (!answer.data) throw new Error('The API could not answer.');
  return answer.data.activeVersion.generation;
}

async function terminateAll(stage: CrashStage): Promise<void> {
  await stage.asSuperuser((client) =>
    client.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and datname = current_database()`,
    ),
  );
}
