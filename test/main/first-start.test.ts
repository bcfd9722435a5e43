import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { loadSettings, type Settings } from '../../config/settings.ts';
import { bannerOf } from '../../src/main/banner.ts';
import { checkAdminKey } from '../../src/main/check-admin-key.ts';
import { readEnabledAgent } from '../../src/main/read-enabled-agent.ts';
import { offerSample } from '../../src/main/sample.ts';
import { adminKeyPath, setUpDatabase } from '../../src/main/setup-database.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { openLooks } from '../support/looks.ts';

let folder: string;
let database: TestDatabase;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ak-first-start-'));
  database = await createTestDatabase();
});
afterEach(async () => {
  await database[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

const settingsOf = (localPath = join(folder, 'knowledge'), dataDir = join(folder, 'data')): Settings =>
  loadSettings({ AGENT_KNOWLEDGE_LOCAL_PATH: localPath, AGENT_KNOWLEDGE_DATA_DIR: dataDir }, folder);
const setUp = (settings: Settings, { superuserUrl, applicationUrl } = database) =>
  setUpDatabase(settings, { adminUrl: superuserUrl, applicationUrl });

describe('the sample', () => {
  test('is copied where there is no folder and the database holds no version, whole and nothing beside it', async () => {
    expect(await offerSample(settingsOf(), database.applicationUrl)).toBe(true);
    expect(await readdir(folder)).toEqual(['knowledge']);
    expect(await readdir(join(folder, 'knowledge'))).toContain('00 Shared Agent Knowledge');
    expect(await offerSample(settingsOf(), database.applicationUrl)).toBe(false);
  });

  test('never takes the place of a folder that is lost: one that versions were made of, or a link that leads nowhere', async () => {
    const link = join(folder, 'drive');
    await symlink(join(folder, 'not mounted'), link);
    expect(await offerSample(settingsOf(link), database.applicationUrl)).toBe(false);
    const { agent } = await openLooks(database);
    // Of whatever environment: the folder is the same.
    await agent('staging').refresh('one');
    expect(await offerSample(settingsOf(), database.applicationUrl)).toBe(false);
    expect(await readdir(folder)).toEqual(['drive']);
  });

  test('that cannot be copied is told in words, with the setting, and leaves nothing', async () => {
    await expect(offerSample(settingsOf('/proc/nope'), database.applicationUrl)).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringMatching(
        /^The knowledge folder \/proc\/nope is not there and could not be made: .*'\/proc\/nope'.* in AGENT_KNOWLEDGE_LOCAL_PATH\.$/,
      ) as string,
    });
  });
});

describe('the admin key', () => {
  test('of another database is kept beside the new one, and both places are told', async () => {
    const settings = settingsOf();
    const path = adminKeyPath(settings);
    expect(await setUp(settings)).toEqual({ path, earlierPath: null });
    const key = await readFile(path, 'utf8');
    expect(await setUp(settings)).toBeNull();

    await using other = await createTestDatabase();
    const made = await setUp(settings, other);
    expect(made).toMatchObject({ path, earlierPath: expect.stringContaining(`${path}.before-`) as string });
    expect(await readFile(made?.earlierPath ?? '', 'utf8')).toBe(key);
    expect(await checkAdminKey(settings, other.context())).toBeNull();
    // Back on the first database, which has its key already: the file's is none of its.
    expect(await setUp(settings)).toBeNull();
    expect(await checkAdminKey(settings, database.context())).toBe(
      `The key in ${path} is not one of this database, or is revoked or expired.`,
    );
    // As a person puts it back, with a line's end.
    await writeFile(path, `${key}\n`);
    expect(await checkAdminKey(settings, database.context())).toBeNull();
  });

  test('that is not there or cannot be read is told as that', async () => {
    const settings = settingsOf();
    const path = adminKeyPath(settings);
    expect(await checkAdminKey(settings, database.context())).toBe(`The admin key is not in ${path}.`);
    await mkdir(path, { recursive: true });
    expect(await checkAdminKey(settings, database.context())).toContain(`in ${path} could not be read: `);
  });
});

describe('the banner', () => {
  test('asks for an agent that the registry in force has enabled, one with a version before others', async () => {
    const context = database.context();
    expect(await readEnabledAgent(context)).toBeNull();
    const { agent } = await openLooks(database);
    const [first, second] = [agent(), agent()];
    expect(await readEnabledAgent(context)).toBe(first.name.agentKey);
    await second.refresh('one');
    expect(await readEnabledAgent(context)).toBe(second.name.agentKey);
  });

  test('has a command that works as pasted, whatever the path of the key holds', async () => {
    const dataDir = join(folder, "it's $HOME");
    const settings = settingsOf(undefined, dataDir);
    await setUp(settings);
    const facts = { url: 'http://127.0.0.1:1/graphql', signInUrl: null, madeKey: null, keyWorks: true };
    const pasted = (agentKey: string | null) =>
      /^ {2}curl (.*)$/m.exec(bannerOf(settings, { ...facts, agentKey }))?.[1] ?? '';
    const words = async (agentKey: string | null) => {
      const { stdout } = await promisify(execFile)('sh', ['-c', `printf '%s\\n' ${pasted(agentKey)}`]);
      return stdout.trimEnd().split('\n');
    };
    const key = await readFile(adminKeyPath(settings), 'utf8');
    expect(await words('triage')).toContain(`authorization: Bearer ${key}`);
    expect(JSON.parse((await words('triage')).at(-1) ?? '')).toMatchObject({
      query: expect.stringContaining('activeVersion(agentKey: "triage")') as string,
    });
    expect(JSON.parse((await words(null)).at(-1) ?? '')).toMatchObject({
      query: expect.stringMatching(/^\{ packages \{/) as string,
    });
  });

  test('does not show a key that opens nothing as if it were right, and says where an earlier one is', () => {
    const settings = settingsOf();
    const facts = { url: 'http://127.0.0.1:1/graphql', signInUrl: null, agentKey: null };
    const path = adminKeyPath(settings);
    const keyLine = (change: { keyWorks: boolean; earlierPath?: string }) =>
      /Admin key +(.*)/.exec(
        bannerOf(settings, {
          ...facts,
          keyWorks: change.keyWorks,
          madeKey: change.earlierPath === undefined ? null : { path, earlierPath: change.earlierPath },
        }),
      )?.[1];
    expect(keyLine({ keyWorks: true })).toBe(path);
    expect(keyLine({ keyWorks: false })).toBe(`none that works in ${path}: see above`);
    expect(keyLine({ keyWorks: true, earlierPath: '/x' })).toBe(
      `${path} (made now; the earlier one is in /x)`,
    );
  });
});
