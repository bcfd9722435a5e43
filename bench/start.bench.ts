import { appendFile, chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import { execFile } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startEmbeddedPostgres } from '../src/store/embedded-postgres.ts';
import { askGraphql, eventually, runCommand, type RunningCommand } from '../test/support/processes.ts';
import { compared, median, quantile, timed, type Bench, type Figure } from './harness.ts';

/** First and warm start of everything, against the bare PostgreSQL it contains, and a save until it can be read. */
export const start: Bench = {
  name: 'start',
  async run(): Promise<readonly Figure[]> {
    const folder = await mkdtemp(join(tmpdir(), 'ak-bench-'));
    await chmod(folder, 0o755);
    try {
      const bareFirst = await timeBare(join(folder, 'bare'));
      const bareWarm = await timeBare(join(folder, 'bare'));
      const first = await timeStart(folder, 'fast', () => Promise.resolve());
      const fast: number[] = [];
      const settled: number[] = [];
      const warm = [
        await timeStart(folder, 'fast', async (server) => fast.push(...(await timeSaves(server, 40)))),
      ];
      warm.push(
        await timeStart(folder, 'settled', async (server) => settled.push(...(await timeSaves(server, 8)))),
      );
      const git = await timeGit(join(folder, 'git'));
      return [
        compared('first start until v1 can be read', first, 'ms', {
          name: 'PostgreSQL alone, first',
          value: bareFirst,
        }),
        compared('warm start', median(warm), 'ms', { name: 'PostgreSQL alone, warm', value: bareWarm }),
        compared('save until readable, fast, p50', median(fast), 'ms', {
          name: 'git add + commit',
          value: git,
        }),
        { name: 'save until readable, fast, p95', value: quantile(fast, 0.95), unit: 'ms' },
        compared('save until readable, settled, p50', median(settled), 'ms', {
          name: 'the quiet window',
          value: 2000,
        }),
        { name: 'save until readable, settled, p95', value: quantile(settled, 0.95), unit: 'ms' },
      ];
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
};

interface Server {
  readonly url: string;
  readonly dataDir: string;
}

async function timeBare(dataDir: string): Promise<number> {
  const started = performance.now();
  const postgres = await startEmbeddedPostgres({ dataDir });
  const took = performance.now() - started;
  await postgres.stop();
  return took;
}

async function timeStart(
  folder: string,
  settle: string,
  use: (server: Server) => Promise<unknown>,
): Promise<number> {
  const dataDir = join(folder, 'product');
  const started = performance.now();
  await using running = runCommand(['start'], {
    env: { AGENT_KNOWLEDGE_DATA_DIR: dataDir, AGENT_KNOWLEDGE_PORT: '0', AGENT_KNOWLEDGE_SETTLE: settle },
  });
  const url = await addressOf(running);
  const took = performance.now() - started;
  await use({ url, dataDir });
  await running.end('SIGINT');
  return took;
}

async function addressOf(running: RunningCommand): Promise<string> {
  const banner = await running.until(/GraphQL\s+(http\S+)[\s\S]*Ctrl-C stops everything/, 60_000);
  return banner[1] ?? '';
}

/** Saves one after another, each timed until a reader gets it. */
async function timeSaves(server: Server, saves: number): Promise<number[]> {
  const shared = join(server.dataDir, 'knowledge/00 Shared Agent Knowledge');
  const file = join(shared, (await readdir(shared))[0] ?? '');
  const times: number[] = [];
  for (let save = 0; save < saves; save += 1) {
    const before = await generation(server);
    await new Promise((resolve) => setTimeout(resolve, 100));
    times.push(
      await timed(async () => {
        await appendFile(file, `save ${Date.now()}\n`);
        await eventually(
          () => generation(server),
          (now) => now > before,
          20_000,
          5,
        );
      }),
    );
  }
  return times;
}

async function generation(server: Server): Promise<number> {
  const query = '{ activeVersion(agentKey: "intake_triage") { generation } }';
  const answer = await askGraphql<{ activeVersion: { generation: number } }>(server, query);
  return answer.activeVersion.generation;
}

async function timeGit(folder: string): Promise<number> {
  const run = promisify(execFile);
  await run('git', ['init', '-q', folder]);
  const git = (...args: string[]) =>
    run('git', ['-C', folder, '-c', 'user.name=bench', '-c', 'user.email=bench@example.org', ...args]);
  const times: number[] = [];
  for (let round = 0; round < 10; round += 1) {
    await appendFile(join(folder, 'file.md'), `round ${round}\n`);
    times.push(
      await timed(async () => {
        await git('add', '-A');
        await git('commit', '-qm', 'round');
      }),
    );
  }
  return median(times);
}
