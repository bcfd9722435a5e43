import { execFile } from 'node:child_process';
import { chmod, mkdir, readdir, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { ordinaryUser, runToEnd } from '../support/processes.ts';
import { document, file } from '../support/registry-documents.ts';
import { core, makeCliPlace, notes, rules, usualAgent, type CliPlace } from './cli-place.ts';
import { examine, isLong, isTried, unwell, type Diagnosis } from './doctor-place.ts';

type Arrange = (place: CliPlace) => unknown;

const pathOf = (place: CliPlace, path = rules): string => join(place.root, path);
const noDatabase = 'trouble database no_database';

/** What `doctor` says to a user who owns nothing of the place. */
async function examineAsOther(place: CliPlace, root = place.root): Promise<Diagnosis> {
  const { code, stdout } = await runToEnd(['doctor', '--json'], {
    user: ordinaryUser,
    env: {
      AGENT_KNOWLEDGE_LOCAL_PATH: root,
      AGENT_KNOWLEDGE_REGISTRY_PATH: place.registryPath,
      AGENT_KNOWLEDGE_DATA_DIR: join(place.folder, 'data'),
    },
  });
  return { ...(JSON.parse(stdout) as Diagnosis), code: code ?? -1 };
}

const filePlants: [name: string, state: 'trouble' | 'warning', who: string, arrange: Arrange][] = [
  ['missing_required', 'trouble', 'author', (place) => rm(pathOf(place))],
  [
    'name_differs_by_case',
    'trouble',
    'author',
    (place) => rename(pathOf(place), pathOf(place, 'Triage/RULES.md')),
  ],
  [
    'name_differs_by_unicode_form',
    'trouble',
    'author',
    async (place) => {
      await place.putRegistry(
        document({ [place.agentKey]: usualAgent({ files: [file('Café.md'.normalize('NFC'))] }) }),
      );
      await place.put('Café.md'.normalize('NFD'), 'x');
    },
  ],
  [
    'conflict_copy_present',
    'warning',
    'author',
    (place) => place.put('Triage/rules-DESKTOP-7AB12CD.md', 'old'),
  ],
  ['too_large', 'trouble', 'author', (place) => truncate(pathOf(place), 1_048_577)],
  ['empty_required', 'trouble', 'author', (place) => place.put(rules, '')],
  ['empty_optional', 'warning', 'author', (place) => place.put(notes, ' ')],
  [
    'not_regular_file',
    'trouble',
    'author',
    async (place) => {
      await rm(pathOf(place));
      await promisify(execFile)('mkfifo', [pathOf(place)]);
    },
  ],
  [
    'path_escapes_root',
    'trouble',
    'author',
    async (place) => {
      await rm(pathOf(place));
      await symlink(place.registryPath, pathOf(place));
    },
  ],
  [
    'symlink_inside_root',
    'warning',
    'author',
    async (place) => {
      await rm(pathOf(place));
      await symlink('../Shared/core.md', pathOf(place));
    },
  ],
  ['null_byte', 'trouble', 'author', (place) => place.put(rules, 'a\0b')],
  ['script_markup', 'trouble', 'author', (place) => place.put(rules, 'a <script b')],
];

describe('doctor without a database', () => {
  it('says so, and still checks the folder', async () => {
    await using place = await makeCliPlace(null, { DATA_DIR: 'data' });
    const found = await examine(place);
    expect(unwell(found)).toEqual([noDatabase]);
    expect(found).toMatchObject({ code: 1, ok: false });
    // A start that runs is bringing its database back, and a second one is refused.
    expect(found.checks.find((check) => check.name === 'no_database')).toMatchObject({
      found: expect.stringContaining(join(place.folder, 'data')),
      fix: expect.stringMatching(/^If "npm start" runs, .*terminal says why.* Else run it/),
    });
    expect(found.checks).toContainEqual(
      expect.objectContaining({ area: 'files', name: 'package', agentKeys: [place.agentKey] }),
    );
  });

  it.each(filePlants.filter(([name]) => isTried(name)))(
    'finds %s, which is %s, and names the %s',
    async (name, state, who, arrange) => {
      await using place = await makeCliPlace(null, { DATA_DIR: 'data' });
      await arrange(place);
      const found = await examine(place);
      expect(unwell(found)).toEqual([`${state} files ${name}`, noDatabase]);
      const check = found.checks.find((candidate) => candidate.name === name);
      expect(check).toMatchObject({
        who,
        agentKeys: [place.agentKey],
        meaning: expect.any(String),
        fix: expect.any(String),
        relativePath: expect.any(String),
      });
      // An author has the folder and no shell.
      if (who === 'author') expect(check?.fix).not.toMatch(/npx|npm|chmod/);
    },
  );

  it('finds a file that this user may not read', async () => {
    await using place = await makeCliPlace(null);
    await chmod(place.folder, 0o755);
    await chmod(pathOf(place), 0);
    const found = await examineAsOther(place);
    expect(found.code).toBe(1);
    expect(unwell(found)).toEqual(['trouble files unreadable', noDatabase]);
  });

  it('says once that a root may not be entered, and not of each file in it', async () => {
    await using place = await makeCliPlace(null);
    await chmod(place.folder, 0o755);
    await chmod(place.root, 0);
    const found = await examineAsOther(place);
    await chmod(place.root, 0o755);
    expect(unwell(found)).toEqual(['trouble root root_closed', noDatabase]);
    // CONTROL: where it may be entered the same user sees the files, as above.
    if (isLong) expect(unwell(await examineAsOther(place))).toEqual([noDatabase]);
  });

  it('tells another user than that of the daemon to run it as that one', async () => {
    await using place = await makeCliPlace(null);
    await chmod(place.folder, 0o755);
    await rename(place.root, join(place.folder, 'closed'));
    await mkdir(join(place.folder, 'above'));
    await rename(join(place.folder, 'closed'), join(place.folder, 'above/root'));
    await mkdir(join(place.folder, 'data'));
    await writeFile(join(place.folder, 'data/postgres.json'), '{}', { mode: 0o600 });
    if (ordinaryUser === null) await chmod(join(place.folder, 'data/postgres.json'), 0);
    await chmod(join(place.folder, 'above'), 0);
    const found = await examineAsOther(place, join(place.folder, 'above/root'));
    await chmod(join(place.folder, 'above'), 0o755);
    expect(unwell(found)).toEqual(['trouble root root_closed', noDatabase]);
    for (const { fix } of found.checks.filter((check) => check.state === 'trouble'))
      expect(fix).toMatch(/^Run this as the user of /);
  });

  it('names a registry file that is missing, and the place of a fault once', async () => {
    await using place = await makeCliPlace(null, { DATA_DIR: 'data' });
    const first = async () => (await examine(place)).checks.find((check) => check.area === 'registry');
    await place.putRegistry('\n{"agents" 1}');
    const broken = await first();
    expect(broken?.found).toMatch(/^The registry, line 2, column \d+: expected /);
    expect(broken?.meaning).toContain('if there was one');
    await place.putRegistry('{"registry_version": "1",\n"agents": {"a": 1}}');
    expect((await first())?.found).toMatch(/^Line 2: agents\.a: /);
    await rm(place.registryPath);
    expect((await first())?.found).toBe(`There is no registry file ${place.registryPath}.`);
  });

  it('counts one of a kind as one', async () => {
    await using place = await makeCliPlace(null, { DATA_DIR: 'data' });
    await place.put(core, 'x');
    await place.putRegistry(document({ one: usualAgent({ files: [file(core)] }) }));
    const { checks } = await examine(place);
    const said = checks.map((check) => check.found).join('\n');
    expect(said).toContain('1 agent, 1 of them enabled.');
    expect(said).toContain('one: 1 of 1 listed file would load, 1 byte.');
  });

  it.each<[area: string, name: string, arrange: Arrange]>([
    ['root', 'root_missing', (place) => rm(place.root, { recursive: true })],
    [
      'root',
      'root_empty',
      async (place) => {
        for (const name of await readdir(place.root)) await rm(join(place.root, name), { recursive: true });
      },
    ],
    [
      'root',
      'root_missing',
      async (place) => {
        await rm(place.root, { recursive: true });
        await writeFile(place.root, 'a file');
      },
    ],
    ['registry', 'registry_missing', (place) => rm(place.registryPath)],
    ['registry', 'registry_bad_json', (place) => place.putRegistry('{"registry_version": ')],
    [
      'registry',
      'not_checked',
      async (place) => {
        await rm(place.registryPath);
        await mkdir(place.registryPath);
      },
    ],
  ])('finds trouble with the %s: %s', async (area, name, arrange) => {
    await using place = await makeCliPlace(null, { DATA_DIR: 'data' });
    await arrange(place);
    expect(unwell(await examine(place))).toEqual([`trouble ${area} ${name}`, noDatabase]);
  });

  it('tells that the root is a link, which is no trouble', async () => {
    await using place = await makeCliPlace(null, { DATA_DIR: 'data' });
    await rename(place.root, join(place.folder, 'elsewhere'));
    await symlink('elsewhere', place.root);
    const found = await examine(place);
    expect(unwell(found)).toEqual([noDatabase]);
    expect(found.checks.find((check) => check.name === 'root_present')?.found).toContain(
      `is a link to the folder ${join(place.folder, 'elsewhere')}`,
    );
  });

  it('tells a file that two agents list once, with both of them', async () => {
    await using place = await makeCliPlace(null, { DATA_DIR: 'data' });
    await place.putRegistry(
      document({ a: usualAgent(), b: usualAgent(), off: usualAgent({ enabled: false }) }),
    );
    await rm(pathOf(place, core));
    const found = await examine(place);
    expect(unwell(found)).toEqual(['trouble files missing_required', noDatabase]);
    expect(found.checks.find((check) => check.area === 'files')).toMatchObject({
      agentKeys: ['a', 'b'],
      relativePath: core,
    });
  });

  it('finds secrets that others can read, and a data folder that others can write into', async () => {
    await using place = await makeCliPlace(null, { DATA_DIR: 'data' });
    const dataDir = join(place.folder, 'data');
    await mkdir(dataDir);
    await writeFile(join(dataDir, 'admin-key'), 'CANARY-key');
    await chmod(join(dataDir, 'admin-key'), 0o644);
    await chmod(dataDir, 0o777);
    expect(unwell(await examine(place))).toEqual([
      noDatabase,
      'trouble disk secret_readable',
      'trouble disk data_folder_open',
    ]);
  });

  it('lists every fault of the settings, and what is set in vain is a warning', async () => {
    await using wrong = await makeCliPlace(null, { PORT: 'x', SETTLE: 'slow' });
    const found = await examine(wrong);
    expect(unwell(found)).toEqual([
      'trouble settings setting_refused',
      'trouble settings setting_refused',
      'warning settings not_checked',
    ]);
    await using idle = await makeCliPlace(null, { DATA_DIR: 'data', SWEEP: '5', GRAPH_CLOUD: 'china' });
    expect(unwell(await examine(idle))).toEqual([
      'warning settings setting_idle',
      'warning settings setting_idle',
      noDatabase,
    ]);
  });

  it('never shows a password, a key or the body of a file', async () => {
    const settings = {
      DATA_DIR: 'data',
      DATABASE_URL: 'postgres://knowledge:CANARY-password@127.0.0.1:1/knowledge?password=CANARY-query',
      DATABASE_ADMIN_URL: 'postgres://owner:CANARY-owner@127.0.0.1:1/knowledge',
      WEBHOOK_URL: 'https://CANARY-user:CANARY-word@hooks.example.org/CANARY-hook-path?k=CANARY-key',
      WEBHOOK_SECRET: 'CANARY-hook',
    };
    await using place = await makeCliPlace(null, settings);
    await mkdir(join(place.folder, 'data'));
    await writeFile(join(place.folder, 'data/postgres.json'), '{"superuser": "CANARY-superuser"');
    await writeFile(join(place.folder, 'data/admin-key'), 'CANARY-key');
    const token = `ghp_${'CANARY'.repeat(6)}`;
    await place.put(rules, `CANARY-body\n${token}\n<script\n`);
    await place.put(core, `CANARY-body\n${'x'.repeat(400)}\0\n`);
    const proposed = await place.run('doctor', '--root', place.root);
    expect(proposed.out + proposed.err).not.toContain('CANARY');
    // CONTROL: the path of a missing file is shown, so a canary can be seen.
    const files = [file(core, 1), file(rules, 2), file('CANARY-path.md', 3)];
    await place.putRegistry(document({ [place.agentKey]: usualAgent({ files }) }));
    for (const arguments_ of [['doctor'], ['doctor', '--json']]) {
      const { out, err } = await place.run(...arguments_);
      expect(out).toContain('knowledge@127.0.0.1:1/knowledge');
      expect(out).toContain('CANARY-path.md');
      expect((out + err).replaceAll('CANARY-path.md', '')).not.toContain('CANARY');
    }
    await using embedded = await makeCliPlace(null, { DATA_DIR: join(place.folder, 'data') });
    const other = await embedded.run('doctor');
    expect(other.out).toContain('postgres.json');
    expect(other.out + other.err).not.toContain('CANARY');
  });
});
