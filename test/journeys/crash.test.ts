import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventHash } from '../../src/core/events.ts';
import { listEvents } from '../../src/store/knowledge-events.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually, runCommand, type RunningCommand } from '../support/processes.ts';

const rounds = process.env['AGENT_KNOWLEDGE_TEST_LONG'] === '1' ? 25 : 4;
const agents = ['alpha', 'beta', 'gamma'];

let stack: AsyncDisposableStack;
let folder: string;
let database: TestDatabase;
let env: Record<string, string>;

beforeEach(async () => {
  stack = new AsyncDisposableStack();
  folder = await mkdtemp(join(tmpdir(), 'ak-crash-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  database = stack.use(await createTestDatabase());
  await mkdir(join(folder, 'knowledge'));
  const files = (agent: string) => [{ relative_path: `${agent}.md`, load_order: 1, required: true }];
  const entry = (agent: string) => ({
    enabled: true,
    agent_code: 'A',
    stage: 's',
    package_version: 'v01',
    files: files(agent),
  });
  const registry = {
    registry_version: '1.0',
    agents: Object.fromEntries(agents.map((agent) => [agent, entry(agent)])),
  };
  await writeFile(join(folder, 'registry.json'), JSON.stringify(registry));
  for (const agent of agents) await save(agent, 'first');
  env = {
    AGENT_KNOWLEDGE_DATABASE_URL: database.applicationUrl,
    AGENT_KNOWLEDGE_MIGRATE: 'never',
    AGENT_KNOWLEDGE_DATA_DIR: folder,
    AGENT_KNOWLEDGE_REGISTRY_PATH: join(folder, 'registry.json'),
    AGENT_KNOWLEDGE_SETTLE: 'fast',
    AGENT_KNOWLEDGE_AUTH: 'off',
    AGENT_KNOWLEDGE_PORT: '0',
  };
});
afterEach(() => stack.disposeAsync());

const save = (agent: string, text: string) =>
  writeFile(join(folder, 'knowledge', `${agent}.md`), `# ${agent}\n\n${text}\n`);

/** What was answered with success, and so must be there for ever. */
interface Acknowledged {
  versions: { agent: string; knowledgeVersion: string; checksum: string }[];
  generations: { agent: string; generation: number; active: string }[];
}

test('kill -9 of daemon and API in the middle of refreshes and activates tears nothing and loses nothing acknowledged (F1, F2, F4, F5)', async () => {
  const acknowledged: Acknowledged = { versions: [], generations: [] };
  let api = await startApi();
  let daemon = await startDaemon();
  let address = () => api.url;
  const writing = new AbortController();
  const writers = agents.map((agent, index) =>
    write(agent, index, () => address(), acknowledged, writing.signal),
  );
  for (let round = 0; round < rounds; round += 1) {
    await new Promise((resolve) => setTimeout(resolve, 300 + Math.random() * 1500));
    if (round % 2 === 0) {
      await daemon.end('SIGKILL');
      daemon = await startDaemon();
    } else {
      await api.command.end('SIGKILL');
      api = await startApi();
      address = () => api.url;
    }
    await assertWhole(acknowledged);
  }
  writing.abort();
  await Promise.all(writers);
  expect(acknowledged.versions.length).toBeGreaterThan(rounds);
  expect(acknowledged.generations.length).toBeGreaterThan(0);
  // A refresh that was asked for before the last crash is answered after it.
  await save('alpha', 'the last word');
  const last = await ask(
    api.url,
    'mutation { refresh(agentKey: "alpha", waitSeconds: 30) { state outcome version { knowledgeVersion checksum } } }',
  );
  expect(last['refresh']).toMatchObject({ state: 'DONE' });
  await assertWhole(acknowledged);
}, 240_000);

async function startApi(): Promise<{ command: RunningCommand; url: string }> {
  const command = stack.use(runCommand(['serve'], { env }));
  const url = await eventually(
    async () => /"url":"(http[^"]+)"/.exec(command.stderr())?.[1],
    (found) => found !== undefined,
  );
  return { command, url: `${url}/graphql` };
}

async function startDaemon(): Promise<RunningCommand> {
  const command = stack.use(runCommand(['daemon'], { env }));
  await eventually(
    async () => command.stderr(),
    (text) => text.includes('the daemon watches'),
    60_000,
  );
  return command;
}

/** Saves and refreshes without end; every third time activates an older version instead. A lost answer is no answer. */
async function write(
  agent: string,
  seed: number,
  address: () => string,
  acknowledged: Acknowledged,
  signal: AbortSignal,
): Promise<void> {
  for (let turn = seed; !signal.aborted; turn += 1) {
    try {
      if (turn % 3 === 2) {
        const answer = await ask(
          address(),
          `mutation { activate(agentKey: "${agent}", knowledgeVersion: "v1") { generation active { knowledgeVersion } } }`,
        );
        const moved = answer['activate'] as { generation: number; active: { knowledgeVersion: string } };
        acknowledged.generations.push({
          agent,
          generation: moved.generation,
          active: moved.active.knowledgeVersion,
        });
        continue;
      }
      await save(agent, `turn ${turn} of ${agent}`);
      const answer = await ask(
        address(),
        `mutation { refresh(agentKey: "${agent}", waitSeconds: 20) { outcome version { knowledgeVersion checksum } } }`,
      );
      const refreshed = answer['refresh'] as {
        outcome: string;
        version: { knowledgeVersion: string; checksum: string } | null;
      };
      if (refreshed.version) acknowledged.versions.push({ agent, ...refreshed.version });
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 100)); // The server is down at this moment: nothing was answered.
    }
  }
}

async function ask(url: string, query: string): Promise<Record<string, unknown>> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query }),
    signal: AbortSignal.timeout(40_000),
  });
  const answer = (await response.json()) as { data?: Record<string, unknown>; errors?: unknown };
  if (!answer.data || answer.errors) throw new Error(JSON.stringify(answer.errors));
  return answer.data;
}

/** Every invariant that a crash could break, asked of the database itself. */
async function assertWhole(all: Acknowledged): Promise<void> {
  // What is acknowledged while the database is being read may be newer than what is read.
  const acknowledged = { versions: [...all.versions], generations: [...all.generations] };
  const { rows } = await database.asSuperuser((client) =>
    client.query(`
      select p.agent_key, p.next_number, p.active_number, p.generation,
        coalesce(array_agg(v.number order by v.number) filter (where v.number is not null), '{}') as numbers,
        coalesce(array_agg(v.checksum order by v.number) filter (where v.number is not null), '{}') as checksums
      from agent_knowledge.package p left join agent_knowledge.package_version v using (agent_key, environment)
      where p.environment = 'production' group by p.agent_key, p.environment`),
  );
  for (const row of rows) {
    expect(row.numbers).toEqual(Array.from({ length: row.next_number - 1 }, (_, index) => index + 1));
    if (row.active_number !== null) expect(row.numbers).toContain(row.active_number);
    for (const version of acknowledged.versions.filter(({ agent }) => agent === row.agent_key)) {
      expect(row.checksums[Number(version.knowledgeVersion.slice(1)) - 1]).toBe(version.checksum);
    }
    for (const moved of acknowledged.generations.filter(({ agent }) => agent === row.agent_key)) {
      expect(Number(row.generation)).toBeGreaterThanOrEqual(moved.generation);
    }
  }
  await assertChain();
}

async function assertChain(): Promise<void> {
  const everything = { agents: null, environments: null, general: true };
  const events = (
    await database.database.read((queries) =>
      listEvents(queries, everything, { limit: 100_000, before: null }),
    )
  ).toReversed();
  let previous = '0'.repeat(64);
  for (const [index, event] of events.entries()) {
    expect(event.sequence).toBe(index + 1);
    expect(event.previousHash).toBe(previous);
    previous = eventHash({ ...event, actorId: event.actorRef, timeMicros: String(event.atMicros) });
    expect(event.hash).toBe(previous);
  }
  // One snapshot: every version has its event and every move of a pointer has one, while the writers go on.
  const { rows } = await database.asSuperuser((client) =>
    client.query(`select
      (select count(*) from agent_knowledge.package_version)::int as versions,
      (select count(*) from agent_knowledge.knowledge_event where action = 'agent.knowledge_loaded')::int as loaded,
      (select sum(generation) from agent_knowledge.package)::int as moves,
      (select count(*) from agent_knowledge.knowledge_event where action = 'agent.knowledge_rollback'
        or (action = 'agent.knowledge_loaded' and (details::jsonb ->> 'activated')::boolean))::int as told`),
  );
  expect(rows[0].versions).toBe(rows[0].loaded);
  expect(rows[0].moves).toBe(rows[0].told);
}

test('control: the same check finds an acknowledged version that is not there, a changed event and a missing one', async () => {
  await startDaemon();
  const nothing: Acknowledged = { versions: [], generations: [] };
  await assertWhole(nothing);
  const lost = { agent: 'alpha', knowledgeVersion: 'v1', checksum: '0'.repeat(64) };
  await expect(assertWhole({ versions: [lost], generations: [] })).rejects.toThrow();
  await expect(
    assertWhole({ versions: [], generations: [{ agent: 'alpha', generation: 99, active: 'v9' }] }),
  ).rejects.toThrow();
  const tamper = (statement: string) =>
    database.asSuperuser(async (client) => {
      await client.query('alter table agent_knowledge.knowledge_event disable trigger user');
      await client.query(statement);
    });
  await tamper(`update agent_knowledge.knowledge_event set subject = 'v7' where sequence = 5`);
  await expect(assertWhole(nothing)).rejects.toThrow();
  await tamper(`delete from agent_knowledge.knowledge_event where sequence = 5`);
  await expect(assertWhole(nothing)).rejects.toThrow();
}, 60_000);
