import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, inject, it } from 'vitest';
import { createTestDatabase } from '../support/database.ts';
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

  it('ends with 64 for an unknown command', () => {
    const { code, out, err } = start(['nonsense']);
    expect({ code, out }).toEqual({ code: 64, out: '' });
    expect(err).toMatch(/^agent-knowledge: unknown command 'nonsense'[^\n]*\n$/);
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
    expect(JSON.parse(first.out)).toEqual({ migrated: true, adminKeyPath: join(dataDir, 'admin-key') });
    expect(start(['migrate'], settings)).toEqual({
      code: 0,
      out: 'The database has the tables of this version.\n',
      err: '',
    });
    await rm(dataDir, { recursive: true });
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
