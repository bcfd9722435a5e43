import { rename } from 'node:fs/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { checkLines } from '../../src/cli/output/checks.ts';
import { warn } from '../../src/core/check.ts';
import { createTestDatabase } from '../support/database.ts';
import { document } from '../support/registry-documents.ts';
import { makeCliPlace, usualAgent } from './cli-place.ts';
import { examine, isLong, isTried, makeHealthyPlace, unwell, type HealthyPlace } from './doctor-place.ts';

let healthy: HealthyPlace;
beforeAll(async () => {
  healthy = await makeHealthyPlace();
});
afterAll(() => healthy[Symbol.asyncDispose]());

describe('doctor, where nothing is wrong', () => {
  beforeEach(() => healthy.beat());

  it('CONTROL: finds nothing, names every area, and exits with 0', async () => {
    const { code, ok, checks } = await examine(healthy.place);
    expect(checks.filter((check) => check.state !== 'ok')).toEqual([]);
    expect({ code, ok }).toEqual({ code: 0, ok: true });
    expect(new Set(checks.map((check) => check.area))).toEqual(
      new Set('settings registry root files watcher database daemons packages queue notices disk'.split(' ')),
    );
  });

  it('prints aligned lines that fit 80 columns, and changes nothing', async () => {
    const before = await countRows(healthy);
    const { code, out, err } = await healthy.place.run('doctor');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    const lines = out.trimEnd().split('\n');
    expect(lines.at(-1)).toMatch(/^\d+ checks: \d+ ok, 0 warnings, 0 trouble\.$/);
    for (const line of lines.slice(0, -1)) expect(line).toMatch(/^(?:ok {7}[a-z]+ +| {19})\S/);
    // A path is never broken, so only a line with one may be longer.
    expect(lines.filter((line) => line.length > 80 && !line.includes(healthy.place.folder))).toEqual([]);
    expect(await countRows(healthy)).toEqual(before);
  });
});

async function countRows({ database }: HealthyPlace): Promise<unknown> {
  return database.asSuperuser(async (client) => {
    const { rows } = await client.query(
      `select (select count(*) from agent_knowledge.knowledge_event) events, (select count(*) from agent_knowledge.actor) actors,
        (select count(*) from agent_knowledge.refresh_attempt) attempts, (select last_value from agent_knowledge.look_ticket) ticket`,
    );
    return rows;
  });
}

const sql =
  (text: string) =>
  ({ database }: HealthyPlace): Promise<unknown> =>
    database.asSuperuser((client) => client.query(`set search_path = agent_knowledge; ${text}`));

const databasePlants: [
  name: string,
  plant: (at: HealthyPlace) => unknown,
  undo: (at: HealthyPlace) => unknown,
][] = [
  [
    'trouble database rule_off',
    sql('alter table blob disable trigger blob_is_immutable'),
    sql('alter table blob enable always trigger blob_is_immutable'),
  ],
  [
    'trouble registry registries_differ',
    (at) => at.beat('other', { registryOffered: 'missing' }),
    (at) => at.leave('other'),
  ],
  [
    'warning watcher degraded',
    (at) => at.beat('daemon', { watcher: 'degraded', watcherMessage: 'No watch is left.' }),
    (at) => at.beat(),
  ],
  [
    'trouble daemons root_missing',
    (at) => at.beat('daemon', { root: 'missing', rootMessage: 'The folder is gone.' }),
    (at) => at.beat(),
  ],
  [
    'warning daemons root_suspect',
    (at) => at.beat('daemon', { root: 'suspect', rootMessage: 'It is empty.' }),
    (at) => at.beat(),
  ],
  [
    'warning daemons silent',
    async (at) => {
      await at.beat('killed');
      await sql(`update daemon set beat_at = beat_at - interval '1 minute' where id = 'killed'`)(at);
    },
    (at) => at.leave('killed'),
  ],
  [
    'warning daemons not_watched',
    sql(`update daemon set environments = '{dev}'`),
    sql(`update daemon set environments = '{production}'`),
  ],
  ['warning daemons none', (at) => at.leave('daemon'), (at) => at.beat()],
  [
    'warning packages held',
    ({ place }) => place.run('hold', place.agentKey, '--reason', 'a look first'),
    ({ place }) => place.run('release', place.agentKey),
  ],
  [
    'trouble packages stale',
    sql(`update source_status set last_success_at = last_success_at - interval '1 day'`),
    sql(`update source_status set last_success_at = clock_timestamp()`),
  ],
  [
    'trouble packages no_version',
    sql(`insert into package (agent_key, environment, agent_code, stage, package_version, registry_version, enabled, listed)
        values ('fresh', 'production', 'c', 's', 'v01', '1', true, true);
        insert into source_status (agent_key, environment, watched, state, last_success_at)
        values ('fresh', 'production', true, 'ok', clock_timestamp())`),
    sql(`update package set enabled = false where agent_key = 'fresh'`),
  ],
  [
    'trouble queue waiting',
    sql(`insert into refresh_attempt (id, agent_key, environment, actor_id, accept_shrink, state, created_at)
        select 'waiting', agent_key, environment, (select min(id) from actor), false, 'QUEUED', clock_timestamp() - interval '2 minutes'
          from package where active_number is not null limit 1`),
    sql(`delete from refresh_attempt where id = 'waiting'`),
  ],
  [
    'warning notices notices_dead',
    sql(`insert into notice (id, type, body, state, finished_at, last_error)
        values ('msg_1', 'knowledge.stale', '{}', 'DEAD', clock_timestamp(), 'hooks.example.org answered 404.')`),
    sql(`delete from notice`),
  ],
  [
    'warning registry not_in_force',
    async (at) => {
      await at.place.putRegistry(document({ [at.place.agentKey]: usualAgent({ stage: 'later' }) }));
      await at.beat();
    },
    async (at) => {
      await at.place.putRegistry(document({ [at.place.agentKey]: usualAgent() }));
      await at.beat();
    },
  ],
];

describe('doctor on a database', () => {
  beforeEach(() => healthy.beat());

  it.each(databasePlants.filter(([name]) => isTried(name)))(
    'finds %s, and nothing else',
    async (name, plant, undo) => {
      await plant(healthy);
      const found = await examine(healthy.place);
      expect(unwell(found)).toEqual([name]);
      expect(found.code).toBe(name.startsWith('trouble') ? 1 : 0);
      await undo(healthy);
      if (isLong) expect(unwell(await examine(healthy.place))).toEqual([]);
    },
  );

  it('finds that the registry was refused, while its file is wrong and after it is mended', async () => {
    const { place } = healthy;
    const good = document({ [place.agentKey]: usualAgent() });
    const refreshWith = async (registry: string | typeof good): Promise<void> => {
      await healthy.leave('daemon');
      await place.putRegistry(registry);
      await place.run('refresh', place.agentKey);
      await healthy.beat();
    };
    await refreshWith('{"agents":');
    const whileWrong = await examine(place);
    expect(unwell(whileWrong)).toEqual(['trouble registry registry_bad_json', 'trouble packages stale']);
    expect(whileWrong.checks.find((check) => check.name === 'registry_bad_json')?.meaning).toContain(
      'the last good one stays in force',
    );
    // The files of the registry in force are checked all the same.
    expect(whileWrong.checks).toContainEqual(
      expect.objectContaining({ area: 'files', name: 'package', state: 'ok' }),
    );
    await place.putRegistry(good);
    await healthy.beat();
    expect(unwell(await examine(place))).toEqual([
      'trouble registry refused_since',
      'trouble packages stale',
    ]);
    await refreshWith(good);
  });

  it('says what an agent has meanwhile: its active version, or none yet', async () => {
    await using fresh = await makeCliPlace(healthy.database, { DATA_DIR: 'data' });
    await rename(`${fresh.root}/Shared/core.md`, `${fresh.root}/Shared/away.md`);
    const { place } = healthy;
    await rename(`${place.root}/Shared/core.md`, `${place.root}/Shared/away.md`);
    const [unversioned, versioned] = [await examine(fresh), await examine(place)].map(({ checks }) =>
      checks.find((check) => check.name === 'missing_required'),
    );
    await rename(`${place.root}/Shared/away.md`, `${place.root}/Shared/core.md`);
    expect(unversioned?.meaning).toBe('The agent has no version yet, and gets none until this is mended.');
    expect(versioned?.meaning).toBe('The package keeps its active version until this is mended.');
  });

  it('says that nothing is in force where no registry ever was', async () => {
    await using database = await createTestDatabase();
    await using place = await makeCliPlace(database, { DATA_DIR: 'data' });
    await place.putRegistry('{"agents":');
    await place.run('refresh', place.agentKey);
    const refused = (await examine(place)).checks.find((check) => check.name === 'registry_bad_json');
    expect(refused?.meaning).toBe('The registry is refused whole; there is no registry in force.');
    await place.putRegistry(document({ [place.agentKey]: usualAgent() }));
    const since = (await examine(place)).checks.find((check) => check.name === 'refused_since');
    expect(since?.meaning).toBe('There is no registry in force. This file is valid.');
  });

  it('says so where the root is gone, and still checks the database', async () => {
    const { root } = healthy.place;
    await rename(root, `${root}-away`);
    const found = await examine(healthy.place);
    await rename(`${root}-away`, root);
    expect(unwell(found)).toEqual(['trouble root root_missing']);
    expect(found.checks.filter((check) => check.area === 'database').length).toBeGreaterThan(2);
  });

  it('CONTROL: finds nothing any more when all of it is mended', async () => {
    expect(unwell(await examine(healthy.place))).toEqual([]);
  });

  it('finds a server that is down, a login it refuses, and a database that is not there', async () => {
    const urls = ['1', 'refused', 'absent'].map((what) => {
      const url = new URL(healthy.database.applicationUrl);
      if (what === '1') url.port = '1';
      else if (what === 'refused') url.password = 'CANARY-wrong';
      else url.pathname = '/absent';
      return url.href;
    });
    for (const [index, words] of [
      'nobody listens there',
      'refuses the login',
      'no such database',
    ].entries()) {
      await using place = await makeCliPlace(null, { DATA_DIR: 'data', DATABASE_URL: urls[index]! });
      const found = await examine(place);
      expect(unwell(found)).toEqual(['trouble database unreachable']);
      const check = found.checks.find((candidate) => candidate.name === 'unreachable');
      expect(check?.found).toContain(words);
      expect(check?.who).toBe(index === 0 ? 'operator' : 'database_administrator');
      expect(JSON.stringify(found)).not.toContain('CANARY');
    }
  });

  it('finds a database without tables, and a login that may do everything', async () => {
    const url = new URL(healthy.database.superuserUrl);
    url.pathname = '/postgres';
    await using place = await makeCliPlace(null, { DATA_DIR: 'data', DATABASE_URL: url.href });
    expect(unwell(await examine(place))).toEqual([
      'warning database login_is_superuser',
      'trouble database not_migrated',
    ]);
  });

  it('finds a login that cannot switch to the role that owns nothing', async () => {
    const role = `denied_${healthy.database.name}`;
    await sql(`create role ${role} login password 'CANARY-denied'`)(healthy);
    const url = new URL(healthy.database.applicationUrl);
    url.username = role;
    url.password = 'CANARY-denied';
    await using place = await makeCliPlace(null, { DATA_DIR: 'data', DATABASE_URL: url.href });
    const found = await examine(place);
    await sql(`drop role ${role}`)(healthy);
    expect(unwell(found)).toEqual(['trouble database role_denied', 'trouble database role_denied']);
    expect(JSON.stringify(found)).not.toContain('CANARY');
  });
});

it('breaks no command of a fix in two, however narrow the terminal', () => {
  const command = '"npx agent-knowledge release a_rather_long_agent_key_for_this --env staging"';
  const advice = {
    meaning: 'm',
    fix: `When it is meant, run ${command}, and look.`,
    who: 'operator',
  } as const;
  const lines = checkLines([warn({ area: 'packages', name: 'held', found: 'It is held.' }, advice)], 60);
  expect(lines.length).toBeGreaterThan(3);
  expect(lines.some((line) => line.includes(command))).toBe(true);
});

it('doctor --help is on stdout and needs no settings', async () => {
  await using place = await makeCliPlace(null, { PORT: 'wrong' });
  const { code, out, err } = await place.run('doctor', '--help');
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(out).toContain('Examples:\n  $ npx agent-knowledge doctor');
});
