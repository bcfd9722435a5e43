import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createTestDatabase } from '../support/database.ts';
import { eventually, runCommand } from '../support/processes.ts';

const rounds = process.env['AGENT_KNOWLEDGE_TEST_LONG'] === '1' ? 60 : 15;

test('API and daemon live through every connection being terminated again and again, and lose none of their own (F20)', async () => {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'ak-trouble-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const database = stack.use(await createTestDatabase());
  await mkdir(join(folder, 'knowledge'));
  const save = (text: string) => writeFile(join(folder, 'knowledge', 'a.md'), `# A\n\n${text}\n`);
  await save('first');
  const files = [{ relative_path: 'a.md', load_order: 1, required: true }];
  const agent = { enabled: true, agent_code: 'A', stage: 's', package_version: 'v01', files };
  await writeFile(
    join(folder, 'registry.json'),
    JSON.stringify({ registry_version: '1', agents: { a: agent } }),
  );
  const env = {
    AGENT_KNOWLEDGE_DATABASE_URL: database.applicationUrl,
    AGENT_KNOWLEDGE_MIGRATE: 'never',
    AGENT_KNOWLEDGE_DATA_DIR: folder,
    AGENT_KNOWLEDGE_REGISTRY_PATH: join(folder, 'registry.json'),
    AGENT_KNOWLEDGE_SETTLE: 'fast',
    AGENT_KNOWLEDGE_AUTH: 'off',
    AGENT_KNOWLEDGE_PORT: '0',
  };
  const api = stack.use(runCommand(['serve'], { env }));
  const daemon = stack.use(runCommand(['daemon'], { env }));
  const base = await eventually(
    async () => /"url":"(http[^"]+)"/.exec(api.stderr())?.[1],
    (url) => url !== undefined,
  );
  await eventually(
    async () => daemon.stderr(),
    (text) => text.includes('the daemon watches'),
  );
  const ask = async (query: string) => {
    const response = await fetch(`${base}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query }),
      signal: AbortSignal.timeout(40_000),
    });
    return (await response.json()) as {
      data?: Record<string, unknown>;
      errors?: { extensions: { code: string } }[];
    };
  };
  const activate = () => ask('mutation { activate(agentKey: "a", knowledgeVersion: "v1") { generation } }');

  const writing = new AbortController();
  const codes = new Set<string>();
  const writers = Array.from({ length: 8 }, async () => {
    while (!writing.signal.aborted)
      for (const error of (await activate()).errors ?? []) codes.add(error.extensions.code);
  });
  for (let round = 0; round < rounds; round += 1) {
    await save(`round ${round}`);
    await new Promise((resolve) => setTimeout(resolve, 200));
    await database.asSuperuser((client) =>
      client.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and pid <> pg_backend_pid()`,
        [database.name],
      ),
    );
  }
  writing.abort();
  await Promise.all(writers);
  // Whoever was cut off was told so in the one word for it, and nothing else went wrong.
  expect([...codes].filter((code) => code !== 'UNAVAILABLE')).toEqual([]);

  // More requests at once than the pool has connections: none of them was lost.
  const answers = await Promise.all(Array.from({ length: 30 }, () => ask('{ packages { agentKey } }')));
  expect(answers.filter((answer) => answer.errors)).toEqual([]);
  await save('the last word');
  const refreshed = await ask('mutation { refresh(agentKey: "a", waitSeconds: 30) { state outcome } }');
  expect(refreshed.data?.['refresh']).toMatchObject({ state: 'DONE' });
  expect([api.process.exitCode, daemon.process.exitCode]).toEqual([null, null]);
}, 120_000);
