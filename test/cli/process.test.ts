import { spawnSync } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, inject, it } from 'vitest';
import { createTestDatabase } from '../support/database.ts';
import { ordinaryUser, runToEnd } from '../support/processes.ts';
import { makeCliPlace } from './cli-place.ts';

const entry = fileURLToPath(new URL('../../src/main/agent-knowledge.mjs', import.meta.url));

/** The command line as a process of its own, started from another folder than the project's. */
function start(arguments_: readonly string[], settings: Readonly<Record<string, string>> = {}) {
  const others = Object.entries(process.env).filter(([name]) => !name.startsWith('AGENT_KNOWLEDGE_'));
  const { status, stdout, stderr } = spawnSync(process.execPath, [entry, ...arguments_], {
    cwd: tmpdir(),
    encoding: 'utf8',
    env: { ...Object.fromEntries(others), ...settings },
  });
  return { code: status, out: stdout, err: stderr };
}

describe('the program as a process', () => {
  it('helps', () => {
    const { code, out, err } = start(['--help'], { AGENT_KNOWLEDGE_PORT: 'wrong' });
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toContain('Usage: agent-knowledge');
  });

  if (process.platform === 'linux')
    it('says that its output could not be written, and ends with 1; a lost stderr changes no exit code', () => {
      const run = (line: string) =>
        spawnSync('sh', ['-c', line, process.execPath, entry], { cwd: tmpdir(), encoding: 'utf8' });
      const full = run('"$0" "$1" --help >/dev/full');
      expect(full.status).toBe(1);
      expect(full.stderr).toMatch(/^agent-knowledge: The output could not be written: ENOSPC[^\n]*\n$/);
      expect(run('"$0" "$1" nonsense 2>/dev/full').status).toBe(64);
      expect(run('{ "$0" "$1" --help; echo "$?" >&2; } | true').stderr).toBe('0\n');
    });

  it('ends with 64 for an unknown command', () => {
    const { code, out, err } = start(['nonsense']);
    expect({ code, out }).toEqual({ code: 64, out: '' });
    expect(err).toMatch(/^agent-knowledge: unknown command 'nonsense'[^\n]*\nUsage: [^\n]*\n$/);
  });

  it('ends with 1 for wrong settings and tells every fault', () => {
    const { code, out, err } = start(['daemon'], {
      AGENT_KNOWLEDGE_PORT: 'wrong',
      AGENT_KNOWLEDGE_MIGRATE: 'perhaps',
      AGENT_KNOWLEDGE_DATABASE_URL: 'secret',
    });
    expect({ code, out }).toEqual({ code: 1, out: '' });
    for (const name of ['PORT', 'MIGRATE', 'DATABASE_URL'])
      expect(err).toContain(`AGENT_KNOWLEDGE_${name}: `);
    expect(err).not.toContain('"secret"');
    expect(err).not.toMatch(/\n\s+at /);
  });

  it('plans, refreshes and ends by itself', async () => {
    await using database = await createTestDatabase();
    await using place = await makeCliPlace(null);
    const settings = {
      AGENT_KNOWLEDGE_LOCAL_PATH: place.root,
      AGENT_KNOWLEDGE_REGISTRY_PATH: place.registryPath,
      AGENT_KNOWLEDGE_DATABASE_URL: database.applicationUrl,
      AGENT_KNOWLEDGE_SETTLE: 'fast',
    };
    expect(start(['plan', place.agentKey, '--json'], settings)).toMatchObject({ code: 2, err: '' });
    expect(start(['refresh', place.agentKey], settings)).toEqual({
      code: 0,
      out: `${place.agentKey} (production): loaded v1. v1 is active.\n`,
      err: '',
    });
    expect(start(['plan', place.agentKey], settings)).toMatchObject({ code: 0, err: '' });
  });

  it('migrates, twice if need be, and says where the admin key lies', async () => {
    await using database = await createTestDatabase();
    const dataDir = await mkdtemp(join(tmpdir(), 'agent-knowledge-cli-data-'));
    const settings = {
      AGENT_KNOWLEDGE_DATABASE_URL: database.applicationUrl,
      AGENT_KNOWLEDGE_DATABASE_ADMIN_URL: database.superuserUrl,
      AGENT_KNOWLEDGE_DATA_DIR: dataDir,
    };
    const first = start(['migrate', '--json'], settings);
    expect(first).toMatchObject({ code: 0, err: '' });
    const adminKeyPath = join(dataDir, 'admin-key');
    expect(JSON.parse(first.out)).toEqual({ migrated: true, adminKeyPath, earlierAdminKeyPath: null });
    expect(start(['migrate'], settings)).toEqual({
      code: 0,
      out: 'The database has the tables of this version.\n',
      err: '',
    });
    await rm(dataDir, { recursive: true });
  });

  it('keeps the admin key of another database when it migrates, and says where', async () => {
    await using first = await createTestDatabase();
    await using second = await createTestDatabase();
    await using place = await makeCliPlace(null);
    const path = join(place.folder, '.data', 'admin-key');
    const migrate = async ({ applicationUrl, superuserUrl }: typeof first) => {
      await using other = await makeCliPlace(null, {
        DATA_DIR: join(place.folder, '.data'),
        DATABASE_URL: applicationUrl,
        DATABASE_ADMIN_URL: superuserUrl,
      });
      return (await other.run('migrate')).out.trimEnd().split('\n').slice(1);
    };
    expect(await migrate(first)).toEqual([`An admin key was made: ${path}`]);
    expect(await migrate(second)).toEqual([
      `An admin key was made: ${path}`,
      expect.stringContaining(`The key that lay there before is now in ${path}.before-`),
    ]);
  });

  if (process.getuid?.() === 0)
    it('tells another user of the machine who may use the embedded database, without a stack trace', async () => {
      const dataDir = await mkdtemp(join(tmpdir(), 'agent-knowledge-cli-data-'));
      await writeFile(join(dataDir, 'postgres.json'), '{}', { mode: 0o600 });
      await chmod(dataDir, 0o755);
      const { code, stdout, stderr } = await runToEnd(['packages'], {
        env: { AGENT_KNOWLEDGE_DATA_DIR: dataDir },
        user: ordinaryUser,
      });
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toMatch(
        /^agent-knowledge: [^\n]*postgres\.json could not be read: permission denied [^\n]*Run this as the user who runs "npm start"[^\n]*\n$/,
      );
      await rm(dataDir, { recursive: true });
    });

  it('says where nobody listens, and never the password', async () => {
    const DATABASE_URL = 'postgres://me:secret@127.0.0.1:1/knowledge';
    const told =
      /^agent-knowledge: The database cannot be reached at me@127\.0\.0\.1:1\/knowledge: nobody listens there\.[^\n]*\n$/;
    await using place = await makeCliPlace(null, { DATABASE_URL });
    for (const command of ['migrate', 'packages']) {
      expect(await place.run(command)).toEqual({
        code: 1,
        out: '',
        err: expect.stringMatching(told) as string,
      });
    }
    const env = { AGENT_KNOWLEDGE_DATABASE_URL: DATABASE_URL };
    const ended = await Promise.all(['serve', 'daemon'].map((command) => runToEnd([command], { env })));
    for (const { code, stdout, stderr } of ended) {
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toMatch(told);
    }
  });

  it('tells of a database without tables which command makes them', async () => {
    const { superuserUrl } = inject('testServer');
    const url = new URL(superuserUrl);
    url.pathname = '/postgres';
    const { code, out, err } = start(['packages'], { AGENT_KNOWLEDGE_DATABASE_URL: url.href });
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toMatch(/^agent-knowledge: [^\n]*"npx agent-knowledge migrate"\.\n$/);
  });
});
