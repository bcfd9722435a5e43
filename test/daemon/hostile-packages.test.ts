/** Recipe R10 through everything: what a hostile folder puts in place of files never gets into database, log or answers. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { link, mkdir, open, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { sha256 } from '../../src/core/checksum.ts';
import { requestRefresh } from '../../src/operations/request-refresh.ts';
import { openLocalSource } from '../../src/source/local-source.ts';
import type { Source } from '../../src/source/source.ts';
import { peakMemoryMib } from '../support/watched-processes.ts';
import { WatchedRoot } from '../support/watched-root.ts';

const canary = 'CANARY-2b61e0';
const run = promisify(execFile);

let stack: AsyncDisposableStack;
let scene: WatchedRoot;

const at = (agent: string) => join(scene.root, agent, 'rules.md');
const outside = () => join(scene.folder, 'outside');

/** What is put in place of each agent's file, and what is said of it. */
const poisons: Record<string, { readonly put: (path: string) => Promise<unknown>; readonly reason: string }> =
  {
    pipe: { put: (path) => run('mkfifo', [path]), reason: 'not_regular_file' },
    folder: { put: (path) => mkdir(path), reason: 'not_regular_file' },
    socket: {
      put: async (path) => {
        const server = createServer().listen(path);
        await once(server, 'listening');
        stack.defer(() => void server.close());
      },
      reason: 'not_regular_file',
    },
    ...(process.getuid?.() === 0
      ? { disk: { put: (path: string) => run('mknod', [path, 'b', '7', '0']), reason: 'not_regular_file' } }
      : {}),
    link_out: { put: (path) => symlink(join(outside(), 'rules.md'), path), reason: 'path_escapes_root' },
    link_self: { put: (path) => symlink('rules.md', path), reason: 'missing_required' },
    hard_link: { put: (path) => link(join(outside(), 'rules.md'), path), reason: 'path_escapes_root' },
    parent_link: {
      put: async (path) => {
        await rm(join(path, '..'), { recursive: true });
        await symlink('../outside', join(path, '..'));
      },
      reason: 'path_escapes_root',
    },
    sparse: {
      put: async (path) => {
        await using file = await open(path, 'w');
        await file.truncate(2 ** 40);
      },
      reason: 'too_large',
    },
  };
const agents = Object.keys(poisons);

beforeEach(async () => {
  stack = new AsyncDisposableStack();
  const files = (agent: string) => [`${agent}/rules.md`];
  scene = stack.use(
    await WatchedRoot.open(Object.fromEntries(['good', ...agents].map((agent) => [agent, files(agent)]))),
  );
  await mkdir(outside());
  await writeFile(join(outside(), 'rules.md'), canary);
});
afterEach(() => stack.disposeAsync());

async function poison(): Promise<void> {
  for (const [agent, { put }] of Object.entries(poisons)) {
    await rm(at(agent));
    await put(at(agent));
  }
}

/** Every place of the database that holds this text, as bytes or as characters. */
async function placesOf(text: string): Promise<string[]> {
  return scene.database.asSuperuser(async (client) => {
    const { rows } = await client.query<{ name: string }>(
      `select format('%I.%I', schemaname, tablename) as name from pg_tables
         where schemaname in ('agent_knowledge', 'graphile_worker')`,
    );
    const found = [];
    for (const { name } of rows) {
      const hex = Buffer.from(text).toString('hex');
      const { rowCount } = await client.query(
        `select from ${name} t where strpos(t::text, $1) > 0 or strpos(t::text, $2) > 0`,
        [text, hex],
      );
      if (rowCount) found.push(name);
    }
    return found;
  });
}

test('each poison fails its own package by path and reason, its good neighbour goes on, and the canary is nowhere', async () => {
  const source = stack.use(openLocalSource({ root: scene.root }));
  await scene.startDaemon({ source });
  await poison();
  await scene.save('good/rules.md', '# Good, saved among poison\n');
  const context = scene.database.context();
  const answers = await Promise.all(
    ['good', ...agents].map((agentKey) => requestRefresh(context, { agentKey })),
  );
  const [good, ...poisoned] = answers;
  expect(good).toMatchObject({ outcome: expect.stringMatching(/LOADED|UNCHANGED/) });
  expect((await scene.package('good')).activeNumber).toBe(2);
  const told = poisoned.map(({ agentKey, reason, faults }) => [agentKey, reason, faults[0]?.relativePath]);
  expect(told).toEqual(agents.map((agent) => [agent, poisons[agent]?.reason, `${agent}/rules.md`]));
  for (const agent of agents) expect((await scene.package(agent)).activeNumber).toBe(1);
  expect(await placesOf(canary)).toEqual([]);
  expect(JSON.stringify([scene.log, scene.lines, answers])).not.toContain(canary);
  for (const { processId } of source.readers) expect(peakMemoryMib(processId ?? 0)).toBeLessThan(256);
}, 120_000);

test('CONTROL: with a source that opens by plain path the canary is found', async () => {
  const plain: Source = {
    type: 'local',
    looksAtOnce: 1,
    look: async (files) => ({
      root: 'present',
      notices: [],
      files: await Promise.all(
        files.map(async ({ relativePath }) => {
          const content = await readFile(join(scene.root, relativePath));
          return {
            state: 'present' as const,
            relativePath,
            checksum: sha256(content),
            sizeBytes: content.length,
            content,
          };
        }),
      ),
    }),
    [Symbol.asyncDispose]: async () => undefined,
  };
  await rm(at('link_out'));
  await poisons['link_out']?.put(at('link_out'));
  await scene.startDaemon({ source: plain });
  expect(await placesOf(canary)).toContain('agent_knowledge.blob');
}, 60_000);
