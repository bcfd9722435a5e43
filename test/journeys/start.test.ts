import {
  appendFile,
  chmod,
  chown,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  writeFile,
} from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterEach, describe, expect, test } from 'vitest';
import {
  askGraphql,
  eventually,
  ordinaryUser,
  processesNaming,
  runCommand,
  type RunningCommand,
} from '../support/processes.ts';
import { withClient } from '../support/database.ts';
import { registryOf } from '../support/registry-documents.ts';
import { databaseUrl, readSuperuserUrl } from '../support/test-server.ts';

const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

/** A data folder whose path has all that paths can have, owned by whoever will use it. */
async function newDataDir(owner: typeof ordinaryUser): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'ak-journey-'));
  folders.push(folder);
  await chmod(folder, 0o755); // So that the database's user gets there and nothing is kept elsewhere.
  const dataDir = join(folder, "Wissen für Agenten's 知識");
  await mkdir(dataDir);
  if (owner) for (const path of [folder, dataDir]) await chown(path, owner.uid, owner.gid);
  return dataDir;
}

async function ready(started: RunningCommand): Promise<string> {
  const banner = await started.until(/GraphQL\s+(http\S+)[\s\S]*Ctrl-C stops everything/, 60_000);
  return banner[1] ?? '';
}

const active =
  '{ activeVersion(agentKey: "intake_triage") { knowledgeVersion checksum files { relativePath content } } }';
interface Active {
  activeVersion: { knowledgeVersion: string; files: { relativePath: string; content: string }[] };
}

async function someFile(dataDir: string): Promise<string> {
  const shared = join(dataDir, 'knowledge', '00 Shared Agent Knowledge');
  return join(shared, (await readdir(shared))[0] ?? '');
}

describe.each([
  { who: 'as the user of the suite', user: null, settle: 'settled' },
  ...(ordinaryUser ? [{ who: 'as an ordinary user', user: ordinaryUser, settle: 'fast' }] : []),
])('npm start, $who', ({ user, settle }) => {
  test('serves v1 of the sample, makes v2 of a save, keeps a rollback, ends without a trace and goes on with v3', async () => {
    const dataDir = await newDataDir(user);
    const env = {
      AGENT_KNOWLEDGE_DATA_DIR: dataDir,
      AGENT_KNOWLEDGE_PORT: '0',
      AGENT_KNOWLEDGE_RESYNC_SECONDS: '1',
      AGENT_KNOWLEDGE_SETTLE: settle,
    };
    const first = runCommand(['start'], { env, user });
    await using _first = first;
    const server = { url: await ready(first), dataDir };
    const v1 = await askGraphql<Active>(server, active);
    expect(v1.activeVersion.knowledgeVersion).toBe('v1');
    expect(v1.activeVersion.files).toHaveLength(7);

    const file = await someFile(dataDir);
    await appendFile(file, '\nA rule added today.\n');
    await first.until(/intake_triage \(production\): v2 is active/);
    const v2 = await askGraphql<Active>(server, active);
    expect(v2.activeVersion.files.some((entry) => entry.content.endsWith('A rule added today.\n'))).toBe(
      true,
    );

    // K-064, G-07: the source still holds v2; every look of the timer must leave the rollback alone.
    await askGraphql(
      server,
      'mutation { activate(agentKey: "intake_triage", knowledgeVersion: "v1") { generation } }',
    );
    await new Promise((resolve) => setTimeout(resolve, 3500));
    expect((await askGraphql<Active>(server, active)).activeVersion.knowledgeVersion).toBe('v1');

    // One Ctrl-C arrives twice: from the terminal, and from npm, which passes it on.
    first.process.kill('SIGINT');
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(await first.end('SIGINT')).toBe(0);
    expect(await processesNaming(dataDir)).toEqual([]);

    const second = runCommand(['start'], { env, user });
    await using _second = second;
    const again = { url: await ready(second), dataDir };
    expect((await askGraphql<Active>(again, active)).activeVersion.knowledgeVersion).toBe('v1');
    await appendFile(file, 'And one more.\n');
    await eventually(
      () => askGraphql<Active>(again, active),
      (answer) => answer.activeVersion.knowledgeVersion === 'v3',
    );
    expect(await second.end('SIGTERM')).toBe(0);
    expect(await processesNaming(dataDir)).toEqual([]);
  }, 120_000);
});

test('the pasted curl works as it stands with whatever agents there are, and shows neither the key nor the database password', async () => {
  const dataDir = await newDataDir(null);
  const registryPath = join(dataDir, '..', 'registry.json');
  await writeFile(
    registryPath,
    JSON.stringify(registryOf({ decks: ['00 Shared Agent Knowledge/NUMU_CORE_SKILL.md'] })),
  );
  const env = {
    AGENT_KNOWLEDGE_REGISTRY_PATH: registryPath,
    AGENT_KNOWLEDGE_DATA_DIR: dataDir,
    AGENT_KNOWLEDGE_PORT: '0',
    AGENT_KNOWLEDGE_SETTLE: 'fast',
  };
  const started = runCommand(['start'], { env });
  await using _started = started;
  await ready(started);
  expect(started.stdout()).toContain(`The sample was copied to ${join(dataDir, 'knowledge')}.`);
  const pasted = /^ {2}(curl .*)$/m.exec(started.stdout())?.[1] ?? '';
  const { stdout } = await promisify(execFile)('sh', ['-c', pasted]);
  expect(JSON.parse(stdout)).toMatchObject({ data: { activeVersion: { knowledgeVersion: 'v1' } } });
  expect(started.stdout() + started.stderr()).not.toMatch(/ak_[0-9a-f]|postgres(ql)?:\/\//);

  // A part that dies is started again, at the same address, and told in one line.
  for (const [command, name] of [
    ['daemon', 'The daemon'],
    ['serve', 'The API'],
  ]) {
    for (const id of await processesNaming(dataDir)) {
      const line = await readFile(`/proc/${id}/cmdline`, 'utf8').catch(() => '');
      if (line.endsWith(`agent-knowledge.mjs\0${command}\0`)) process.kill(id, 'SIGKILL');
    }
    await started.until(new RegExp(`${name} ended with SIGKILL\\..*\\n.*${name} is back\\.`));
  }
  const { stdout: again } = await promisify(execFile)('sh', ['-c', pasted]);
  expect(JSON.parse(again)).toEqual(JSON.parse(stdout));
  expect(await started.end('SIGINT')).toBe(0);
  expect(await processesNaming(dataDir)).toEqual([]);
}, 60_000);

test('a second start on the same data folder is refused in words and leaves the first one running', async () => {
  const dataDir = await newDataDir(null);
  const env = {
    AGENT_KNOWLEDGE_DATA_DIR: dataDir,
    AGENT_KNOWLEDGE_PORT: '0',
    AGENT_KNOWLEDGE_SETTLE: 'fast',
  };
  const first = runCommand(['start'], { env });
  await using _first = first;
  const server = { url: await ready(first), dataDir };
  const refused = async () => {
    const second = runCommand(['start'], { env });
    expect(await second.ended).toBe(1);
    expect(second.stderr()).toContain('Another "npm start" is running');
  };
  await refused();
  // The session that holds the lock ends, as all do when PostgreSQL recovers from the crash of one.
  await withClient(databaseUrl(await readSuperuserUrl(dataDir), 'agent_knowledge'), (client) =>
    client.query("select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory'"),
  );
  await new Promise((resolve) => setTimeout(resolve, 1000));
  await refused();
  expect((await askGraphql<Active>(server, active)).activeVersion.knowledgeVersion).toBe('v1');
  expect(await first.end('SIGINT')).toBe(0);
}, 60_000);

test('a port that is taken is named with its setting, and nothing stays behind', async () => {
  const dataDir = await newDataDir(null);
  const taken = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => taken.once('listening', resolve));
  const port = String((taken.address() as { port: number }).port);
  const started = runCommand(['start'], {
    env: { AGENT_KNOWLEDGE_DATA_DIR: dataDir, AGENT_KNOWLEDGE_PORT: port },
  });
  expect(await started.ended).toBe(1);
  expect(started.stderr()).toContain(port);
  expect(started.stderr()).toContain('AGENT_KNOWLEDGE_PORT');
  expect(started.stderr()).not.toMatch(/\n\s+at /);
  expect(await processesNaming(dataDir)).toEqual([]);
  taken.close();
}, 60_000);

test('wrong settings stop the start with every fault at once', async () => {
  const env = {
    AGENT_KNOWLEDGE_PORT: 'many',
    AGENT_KNOWLEDGE_SETTLE: 'slow',
    AGENT_KNOWLEDGE_DEFAULT_ENV: 'prod',
  };
  const started = runCommand(['start'], { env });
  expect(await started.ended).toBe(1);
  for (const name of Object.keys(env)) expect(started.stderr()).toContain(name);
  expect(started.stderr()).not.toMatch(/\n\s+at /);
});

test('a start killed with -9 takes API and daemon with it, and the next one adopts its database, also without its folder and its key', async () => {
  const dataDir = await newDataDir(null);
  const env = {
    AGENT_KNOWLEDGE_DATA_DIR: dataDir,
    AGENT_KNOWLEDGE_PORT: '0',
    AGENT_KNOWLEDGE_SETTLE: 'fast',
  };
  const first = runCommand(['start'], { env });
  await ready(first);
  await first.end('SIGKILL');
  await eventually(
    async () => (await processesNaming('AGENT_KNOWLEDGE_DATA_DIR=' + dataDir)).length,
    (count) => count === 0,
  );
  // The drive is not mounted, and the key in the file is another database's.
  const [knowledge, adminKey] = [join(dataDir, 'knowledge'), join(dataDir, 'admin-key')];
  await rename(knowledge, `${knowledge}.away`);
  const key = await readFile(adminKey, 'utf8');
  await writeFile(adminKey, 'ak_0123456789ab_foreign');
  const second = runCommand(['start'], { env });
  await using _second = second;
  const server = { url: await ready(second), dataDir };
  expect(second.stdout()).toContain(`The key in ${adminKey} is not one of this database`);
  expect(second.stdout()).not.toContain('The sample was copied');
  expect(await readdir(dataDir)).not.toContain('knowledge');
  await writeFile(adminKey, key);
  expect((await askGraphql<Active>(server, active)).activeVersion.knowledgeVersion).toBe('v1');
  await rename(`${knowledge}.away`, knowledge);
  expect(await second.end('SIGINT')).toBe(0);
  expect(await processesNaming(dataDir)).toEqual([]);
}, 60_000);
