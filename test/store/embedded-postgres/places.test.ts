import { execFile } from 'node:child_process';
import { chmod, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startEmbeddedPostgres } from '../../../src/store/embedded-postgres.ts';
import { findPackage } from '../../../src/store/embedded-postgres/binaries.ts';
import { prepareDataFolder } from '../../../src/store/embedded-postgres/data-folder.ts';
import { copyNativeTree } from '../../../src/store/embedded-postgres/native-tree.ts';
import { isRoot, requireUserEntry, userByUid } from '../../../src/store/embedded-postgres/system-user.ts';
import {
  killHard,
  makeFolder,
  makeScratch,
  ordinaryUser,
  query,
  startInChild,
  type Scratch,
} from './scratch.ts';

const run = promisify(execFile);
let scratch: Scratch;

beforeAll(async () => {
  scratch = await makeScratch();
});

afterAll(async () => {
  await scratch[Symbol.asyncDispose]();
});

describe('an ordinary user', () => {
  it('starts the server as itself, in its own folder', async () => {
    const user = await ordinaryUser();
    const dataDir = await makeFolder(path.join(scratch.folder, 'ordinary'), isRoot() ? user : null);
    const { child, report } = await startInChild(dataDir, { user, scratch });
    const { pid, firstStart, error, adminUrl = '' } = await report;
    expect({ firstStart, error }).toEqual({ firstStart: true, error: undefined });
    expect(await query(adminUrl, 'select 1 as one')).toEqual([{ one: 1 }]);
    expect(await uidOf(pid!)).toBe(user.uid);
    expect((await stat(path.join(dataDir, 'postgres.json'))).uid).toBe(user.uid);

    // The next start adopts it; root runs everything in this folder as its owner.
    const adopted = await startEmbeddedPostgres({ dataDir });
    await killHard(child);
    expect(adopted).toMatchObject({ pid, adopted: true });
    await adopted.stop();
    await using again = await startEmbeddedPostgres({ dataDir });
    expect(await uidOf(again.pid)).toBe(user.uid);
    expect((await stat(path.join(dataDir, 'postgres.json'))).uid).toBe(user.uid);
  });
});

describe('a folder nobody else can pass through', () => {
  it('still gets its database, within reach of its server alone', async () => {
    const closed = path.join(scratch.folder, 'closed');
    await mkdir(closed, { mode: 0o700 });
    const dataDir = path.join(closed, 'data');
    await using server = await startEmbeddedPostgres({ dataDir });
    const { clusterDir } = JSON.parse(await readFile(path.join(dataDir, 'postgres.json'), 'utf8')) as {
      clusterDir: string;
    };
    try {
      // An ordinary user passes through its own folder; root's server does not pass through root's.
      expect(path.dirname(clusterDir)).toBe(isRoot() ? '/var/lib/agent-knowledge' : dataDir);
      expect((await stat(clusterDir)).mode & 0o777).toBe(0o700);
      await query(server.adminUrl, `create table kept as select 1 as number`);
      await server.stop();
      await using again = await startEmbeddedPostgres({ dataDir });
      expect(again.firstStart).toBe(false);
      expect(await query(again.adminUrl, 'select number from kept')).toEqual([{ number: 1 }]);
    } finally {
      await server.stop();
      await rm(clusterDir, { recursive: true });
    }
  });
});

describe('a data folder', () => {
  it.each([{ names: [] }, { names: ['knowledge', 'admin-key'] }])(
    'with $names in it is narrowed',
    async ({ names }) => {
      const folder = path.join(scratch.folder, `ours-${names.length}`);
      await mkdir(folder);
      await Promise.all(names.map((name) => writeFile(path.join(folder, name), '')));
      await chmod(folder, 0o777);
      expect(await prepareDataFolder(folder)).toMatchObject({ isOurs: true });
      expect((await stat(folder)).mode & 0o777).toBe(0o700);
    },
  );

  it('with other things in it that nobody else may write keeps its mode', async () => {
    const folder = path.join(scratch.folder, 'quiet');
    await mkdir(folder);
    await writeFile(path.join(folder, 'letter.txt'), 'hello');
    await chmod(folder, 0o755);
    expect(await prepareDataFolder(folder)).toMatchObject({ isOurs: false });
    expect((await stat(folder)).mode & 0o777).toBe(0o755);
  });

  it('with other things in it is refused where others may write, and keeps its mode', async () => {
    const folder = path.join(scratch.folder, 'busy');
    await mkdir(folder);
    await writeFile(path.join(folder, 'letter.txt'), 'hello');
    await chmod(folder, 0o777);
    await expect(startEmbeddedPostgres({ dataDir: folder })).rejects.toThrow(
      /found mode 777 and other things/,
    );
    await chmod(folder, 0o1777);
    await expect(startEmbeddedPostgres({ dataDir: folder })).rejects.toThrow(/shared by all users/);
    expect((await stat(folder)).mode & 0o7777).toBe(0o1777);
    expect(await readdir(folder)).toEqual(['letter.txt']);
  });

  it('that is a file is told so', async () => {
    const file = path.join(scratch.folder, 'file');
    await writeFile(file, '');
    await expect(startEmbeddedPostgres({ dataDir: file })).rejects.toThrow(
      /The data folder .*file could not be prepared: something else of that name is there/,
    );
  });

  it('of a uid without an entry in the user database is told so', async () => {
    await expect(userByUid(54_321, 'The folder')).rejects.toThrow(/belongs to uid 54321, which has no entry/);
    const nobodyKnown = () => {
      throw new Error('no such user');
    };
    expect(() => requireUserEntry(nobodyKnown)).toThrow(/uid \d+ has none/);
    if (isRoot()) await refusesTheNameless(); // Only root can be somebody else.
  });

  async function refusesTheNameless(): Promise<void> {
    const nameless = { uid: 54_321, gid: 54_321, name: 'nameless' };
    const dataDir = await makeFolder(path.join(scratch.folder, 'nameless'), nameless);
    await expect(startEmbeddedPostgres({ dataDir })).rejects.toThrow(
      /belongs to uid 54321, which has no entry/,
    );
    const { child, report } = await startInChild(dataDir, { user: nameless, scratch });
    const { error } = await report;
    await killHard(child);
    expect(error).toMatch(/uid 54321 has none/);
  }
});

describe("PostgreSQL's programs", () => {
  it('are copied whole, links made, and run for everybody at umask 077', async () => {
    const shipped = await findPackage(`${process.platform}-${process.arch}`);
    const copy = path.join(scratch.folder, 'programs');
    const before = process.umask(0o077);
    try {
      await Promise.all([copyNativeTree(shipped.native, copy), copyNativeTree(shipped.native, copy)]);
    } finally {
      process.umask(before);
    }
    const user = await ordinaryUser();
    const as = isRoot() ? { uid: user.uid, gid: user.gid, cwd: '/' } : {};
    const { stdout } = await run(path.join(copy, 'bin', 'initdb'), ['-V'], as);
    expect(stdout).toContain('(PostgreSQL) 18');
    expect((await readdir(scratch.folder)).filter((name) => name.startsWith('programs'))).toEqual([
      'programs',
    ]);
  });

  it('are missing on other platforms: the message says where they are, and the way out', async () => {
    await expect(findPackage('sunos-sparc')).rejects.toThrow(
      /no embedded PostgreSQL for sunos-sparc, only for .*linux-x64.*AGENT_KNOWLEDGE_DATABASE_URL/,
    );
  });
});

async function uidOf(pid: number): Promise<number> {
  const { stdout } = await run('ps', ['-o', 'uid=', '-p', String(pid)]);
  return Number(stdout);
}
