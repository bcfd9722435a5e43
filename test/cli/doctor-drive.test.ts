import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Check } from '../../src/core/check.ts';
import type { DriveCondition } from '../../src/core/daemon-condition.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import type { Fault } from '../support/fake-graph/faults.ts';
import { document } from '../support/registry-documents.ts';
import { core, rules, usualAgent } from './cli-place.ts';
import { unwell, type Diagnosis } from './doctor-place.ts';
import {
  makeDrivePlace,
  printed,
  secrets,
  tokenWith,
  type DrivePlace,
  type DrivePlaceWanted,
} from './drive-place.ts';

const noDatabase = 'trouble database no_database';

async function examine({ run }: DrivePlace): Promise<Diagnosis> {
  const { code, out } = await run('doctor', '--json');
  return { code, ...(JSON.parse(out) as Omit<Diagnosis, 'code'>) };
}

/** What doctor says of a drive without a database, and that none of it was written. */
async function examineWith(
  wanted: DrivePlaceWanted,
  faults: readonly Fault[] = [],
  arrange: (place: DrivePlace) => unknown = () => undefined,
) {
  await using place = await makeDrivePlace(wanted);
  for (const fault of faults) place.fake.fault(fault);
  await arrange(place);
  const found = await examine(place);
  const { out } = await place.run('doctor');
  const { requests, writes } = place.fake;
  expect(writes).toEqual([]);
  const bad = unwell(found).filter((line) => !line.includes(' database '));
  const checkOf = (name: string): Check => {
    const check = found.checks.find((one) => one.name === name);
    if (check === undefined)
      throw new Error(`No check ${name}, but ${found.checks.map((one) => one.name).join(', ')}.`);
    return check;
  };
  return { ...found, unwell: bad, checkOf, requests: [...requests], text: out.replaceAll(/\s+/g, ' ') };
}

const status = (code: number, match: Fault['match'] = {}, errorCode = 'accessDenied'): Fault => ({
  kind: 'status',
  status: code,
  code: errorCode,
  match,
});

afterEach(() => vi.unstubAllEnvs());

const ago = (seconds: number): string => new Date(Date.now() - seconds * 1000).toISOString();

/** How a live daemon gets on with the drive, and until when it is notified, each planted and found. */
async function tellsOfDaemons(place: DrivePlace, database: TestDatabase): Promise<void> {
  const conditions: readonly [string, Partial<DriveCondition>][] = [
    ['throttled', { waitsUntil: ago(-120) }],
    ['round_failed', { lastError: 'Access is denied (403).', lastRoundAt: ago(90) }],
    ['round_late', { lastRoundAt: ago(900), nextRoundAt: ago(870) }],
  ];
  for (const [name, condition] of conditions) {
    await place.beat(database, condition);
    expect(unwell(await examine(place))).toEqual([`warning drive ${name}`]);
  }
  await place.beat(database);
  const subscribe = (interval: string) =>
    database.asSuperuser((client) =>
      client.query(
        `insert into agent_knowledge.drive_subscription (drive_id, subscription_id, notification_url, client_state_hash, expires_at)
         values ($1, 'one', 'https://here.example/hooks/graph', repeat('a', 64), now() + $2::interval)
         on conflict (drive_id) do update set expires_at = excluded.expires_at`,
        [place.fake.driveId, interval],
      ),
    );
  await subscribe('1 day');
  expect(unwell(await examine(place))).toEqual([]);
  await subscribe('-1 minute');
  expect(unwell(await examine(place))).toEqual(['warning drive notifications_ended']);
}

describe('doctor on a drive where nothing is wrong', () => {
  it('CONTROL: finds nothing from the token to one content, exits with 0; tells how the daemon gets on (P1)', async () => {
    await using database = await createTestDatabase();
    await using place = await makeDrivePlace({ database });
    expect(await place.run('refresh', place.place.agentKey)).toMatchObject({ code: 0, err: '' });
    await place.beat(database);
    const found = await examine(place);
    expect(unwell(found)).toEqual([]);
    expect({ code: found.code, ok: found.ok }).toEqual({ code: 0, ok: true });
    const names = found.checks.filter(({ area }) => area === 'drive').map(({ name }) => name);
    expect(names).toEqual(['token', 'permissions', 'drive', 'root', 'changes', 'content', 'daemon']);
    expect(found.checks.find(({ area }) => area === 'watcher')?.name).toBe('poll');
    await tellsOfDaemons(place, database);
  });

  it('prints lines that fit 80 columns', async () => {
    await using place = await makeDrivePlace();
    const { out, err } = await place.run('doctor');
    expect(err).toBe('');
    const long = out.split('\n').filter((line) => line.length > 80);
    // A path or an id is never broken.
    expect(long.filter((line) => !line.includes(place.place.folder) && !line.includes('b!'))).toEqual([]);
  });
});

describe('doctor on a drive that cannot be read', () => {
  it('says that no drive is named, and asks nobody (K-007)', async () => {
    const found = await examineWith({ settings: { GRAPH_DRIVE_ID: '' } });
    expect(found.unwell).toEqual(['trouble drive drive_not_named']);
    expect(found.code).toBe(1);
    for (const name of ['DRIVE_ID', 'SITE_URL', 'SHARING_LINK'])
      expect(found.text).toContain(`AGENT_KNOWLEDGE_GRAPH_${name}`);
    expect(found.requests).toEqual([]);
  });

  it('names the missing one of the credentials, and asks nobody (K-007)', async () => {
    vi.stubEnv('AZURE_CLIENT_SECRET', 'CANARY-secret');
    secrets.add('CANARY-secret');
    const found = await examineWith({ settings: { GRAPH_TOKEN: '' } });
    expect(found.unwell).toEqual(['trouble drive token_credentials']);
    expect(found.text).toContain('AZURE_TENANT_ID and AZURE_CLIENT_ID');
    expect(found.requests).toEqual([]);
  });

  it.each<[name: string, who: string, fault: Fault, others: readonly string[]]>([
    ['drive_credentials', 'operator', status(401), []],
    ['drive_missing', 'm365_administrator', status(404, {}, 'itemNotFound'), []],
    ['drive_locked', 'm365_administrator', status(423, {}, 'notAllowed'), []],
    ['root_missing', 'm365_administrator', status(404, { path: /\/root$/ }, 'itemNotFound'), []],
    ['changes_denied', 'm365_administrator', status(403, { path: 'root/delta' }), []],
    [
      'content_denied',
      'm365_administrator',
      status(403, { path: '/content' }),
      ['trouble files unreadable', 'trouble files unreadable'],
    ],
  ])('tells %s, for the %s to mend (T9, P2)', async (name, who, fault, others) => {
    const found = await examineWith({}, [fault]);
    const state = name === 'changes_denied' ? 'warning' : 'trouble';
    expect(found.unwell).toEqual([`${state} drive ${name}`, ...others]);
    expect(found.checkOf(name).who).toBe(who);
  });

  it('tells a grant that is missing with status, code and request id, and nothing as deleted (P1, P2)', async () => {
    const found = await examineWith({}, [status(403)]);
    expect(found.unwell).toEqual([
      'trouble drive drive_forbidden',
      'trouble drive root_forbidden',
      'warning drive changes_denied',
    ]);
    const check = found.checkOf('root_forbidden');
    expect(check.found).toMatch(/403.*accessDenied.*request id [\w-]{36}/);
    expect(check.fix).toContain('Sites.Selected');
    expect(check.meaning).toContain('Nothing counts as deleted');
    expect(found.checks.filter(({ area }) => area === 'files')).toEqual([]);
  });

  it('does not wait for as long as a busy service asks, and looks at no file meanwhile (T1)', async () => {
    const begin = performance.now();
    const busy = { ...status(429, { path: 'root/delta' }), headers: { 'retry-after': '600' } } as Fault;
    await using place = await makeDrivePlace();
    place.fake.fault(busy);
    const found = await examine(place);
    expect(unwell(found).filter((line) => line.includes('drive'))).toEqual([
      'warning drive changes_throttled',
      'trouble drive content_throttled',
    ]);
    expect(found.checks.some(({ area }) => area === 'files')).toBe(false);
    expect(performance.now() - begin).toBeLessThan(5000);
  });

  it('takes a closed drive with an open folder for a warning', async () => {
    const found = await examineWith({}, [status(403, { path: /^\/drives\/[^/]+$/ })]);
    expect(found.unwell).toEqual(['warning drive drive_forbidden']);
  });
});

describe('doctor on tokens, contents and files of a drive', () => {
  it('says that a ready token has ended, or will soon', async () => {
    const ended = await examineWith(
      { token: tokenWith({ roles: ['Sites.Selected'], expiresInSeconds: -60 }) },
      [],
      ({ fake }) => fake.expireTokens(),
    );
    expect(ended.unwell).toEqual(['trouble drive token_expired', 'trouble drive drive_credentials']);
    expect(ended.checkOf('token_expired').fix).toContain('AGENT_KNOWLEDGE_GRAPH_TOKEN');
    const ending = tokenWith({ roles: ['Sites.Selected'], expiresInSeconds: 300 });
    expect((await examineWith({ token: ending })).unwell).toEqual(['warning drive token_expires']);
  });

  it('warns of a token that may write, and of none that may read (P1)', async () => {
    const writer = tokenWith({ roles: ['Files.ReadWrite.All'], expiresInSeconds: 3600 });
    expect((await examineWith({ token: writer })).unwell).toEqual(['warning drive may_write']);
    const nobody = tokenWith({ roles: ['User.Read.All'], expiresInSeconds: 3600 });
    expect((await examineWith({ token: nobody }, [status(403)])).unwell).toContain(
      'trouble drive no_permission',
    );
  });

  it('names the cause that a missing file was never checked in (A12)', async () => {
    const found = await examineWith({}, [], ({ drive }) => rm(join(drive.root, rules)));
    expect(found.unwell).toEqual(['trouble files missing_required']);
    expect(found.checkOf('missing_required')).toMatchObject({ relativePath: rules });
    expect(found.checkOf('missing_required').fix).toContain('check it in where its author alone sees it');
  });

  it('tells a clock that differs, and a content that does', async () => {
    const clock = await examineWith({}, [{ kind: 'clock', skewSeconds: -3600 }]);
    expect(clock.unwell).toEqual(['warning drive clock_differs']);
    expect(clock.checkOf('clock_differs').found).toMatch(/36\d\d s ahead of/);
    const core_ = { match: { path: core, origin: 'content' } } as const;
    const content = await examineWith({}, [{ kind: 'content', change: 'flip', times: 1, ...core_ }]);
    expect(content.unwell).toEqual(['warning drive content_differs']);
  });

  it('warns where the timer comes too often for the units, with the number to set (T2)', async () => {
    const agents = Object.fromEntries(
      Array.from({ length: 90 }, (_, index) => [`agent_${index}`, usualAgent()]),
    );
    const found = await examineWith({}, [], ({ place }) => place.putRegistry(document(agents)));
    expect(found.unwell).toEqual(['warning drive resync_too_often']);
    expect(found.checkOf('resync_too_often').fix).toBe('Set AGENT_KNOWLEDGE_RESYNC_SECONDS to 60 or more.');
  });
});

describe('plan and refresh on a drive, with no daemon', () => {
  it('plan tells what would be loaded, and refresh loads it', async () => {
    await using database = await createTestDatabase();
    await using place = await makeDrivePlace({ database });
    const { agentKey } = place.place;
    expect((await place.run('plan', agentKey)).code).toBe(2);
    expect((await place.run('plan', agentKey, '--no-db')).code).toBe(2);
    const loaded = await place.run('refresh', agentKey);
    expect(loaded).toMatchObject({ code: 0, err: '', out: expect.stringContaining('v1') as string });
    const unchanged = await place.run('plan', agentKey);
    expect(unchanged).toMatchObject({ code: 0 });
    expect(unchanged.out).toContain('v1');
    await place.drive.add(`root/${rules}`, '# Rules\nAsk twice.\n');
    expect((await place.run('refresh', agentKey)).out).toContain('v2');
    expect(place.fake.writes).toEqual([]);
  });

  it('say that no drive is named, as a root that is missing, and ask nobody (K-007)', async () => {
    await using database = await createTestDatabase();
    await using place = await makeDrivePlace({ database, settings: { GRAPH_DRIVE_ID: '' } });
    const { agentKey } = place.place;
    for (const command of [
      ['plan', agentKey],
      ['plan', agentKey, '--no-db'],
      ['refresh', agentKey],
    ]) {
      const { code, out } = await place.run(...command, '--json');
      expect(code).toBe(1);
      expect(out).toMatch(/"failed"/i);
      expect(out).toContain('root_missing');
      expect(out).toContain('AGENT_KNOWLEDGE_GRAPH_SITE_URL');
    }
    expect(place.fake.requests).toEqual([]);
  });

  it('say what is denied, and load nothing (T9)', async () => {
    await using database = await createTestDatabase();
    await using place = await makeDrivePlace({ database });
    place.fake.fault(status(403));
    const { agentKey } = place.place;
    for (const command of ['plan', 'refresh']) {
      const { code, out } = await place.run(command, agentKey);
      expect(code).toBe(1);
      expect(out).toMatch(/root_missing[^]*403[^]*accessDenied/);
    }
  });

  it('are told by a sharing link, which they do not print', async () => {
    const settings = (fake: DrivePlace['fake']) => ({
      GRAPH_DRIVE_ID: '',
      GRAPH_SHARING_LINK: fake.sharingLink,
    });
    await using place = await makeDrivePlace({ settings });
    expect((await place.run('plan', place.place.agentKey, '--no-db')).code).toBe(2);
    expect(unwell(await examine(place))).toEqual([noDatabase]);
    place.fake.fault(status(404, {}, 'itemNotFound'));
    expect((await place.run('plan', place.place.agentKey, '--no-db')).code).toBe(1);
    expect(unwell(await examine(place))).toEqual(['trouble drive place_missing', noDatabase]);
  });
});

describe('no command on a drive', () => {
  // A long word may be broken in two lines.
  const joined = (texts: readonly string[]): string => texts.join('\n').replaceAll(/\s+/g, '');
  const leaks = (text: string): string[] => [...secrets].filter((secret) => text.includes(secret));

  it('prints a token, a secret, a sharing link or a download address (bug 27, K-089)', () => {
    expect(printed.length).toBeGreaterThan(40);
    expect(leaks(joined(printed))).toEqual([]);
  });

  it('CONTROL: each of them would be found', () => {
    const text = joined(printed);
    const [half, rest] = ['tempa', 'uth'];
    expect(leaks(text + joined([`${half}\n   ${rest}`]))).toEqual(['tempauth']);
    for (const secret of secrets) expect(leaks(`${text}see${secret}.`)).toEqual([secret]);
  });
});
