import { describe, expect, it } from 'vitest';
import { firstChecks, trouble, warn } from '../../src/core/check.ts';
import { commandsFor } from '../../src/operations/diagnose/command.ts';
import { checkServer, checkUnknownDatabase } from '../../src/operations/diagnose/database.ts';
import { describeDatabase } from '../../src/store/database-place.ts';
import { checkDisk } from '../../src/operations/diagnose/disk.ts';
import type { Known } from '../../src/operations/diagnose/known.ts';
import { checkPackages, checkQueue } from '../../src/operations/diagnose/packages.ts';
import { checkRoot } from '../../src/operations/diagnose/root.ts';
import { checkFaultySettings } from '../../src/operations/diagnose/settings.ts';
import { told } from '../../src/operations/diagnose/told.ts';
import { checkWatcher } from '../../src/operations/diagnose/watcher.ts';
import type { ServerFacts } from '../../src/store/server-facts.ts';
import { readServerFacts } from '../../src/store/server-facts.ts';
import { createTestDatabase } from '../support/database.ts';

const mebibyte = 1024 * 1024;
const unwell = (checks: readonly { readonly state: string; readonly name: string }[]): string[] =>
  checks.filter((check) => check.state !== 'ok').map((check) => `${check.state} ${check.name}`);

const server: ServerFacts = {
  versionNumber: 180_000,
  version: '18.0',
  encoding: 'UTF8',
  isStandby: false,
  login: 'login',
  loginIsSuperuser: false,
  missingRoles: [],
  deniedRoles: [],
  clockAheadMs: 0,
};

describe('what a server says of itself', () => {
  it.each<[string[], Partial<ServerFacts>]>([
    [[], {}],
    [['trouble server_too_old'], { versionNumber: 160_004, version: '16.4' }],
    [['trouble encoding'], { encoding: 'SQL_ASCII' }],
    [['trouble standby'], { isStandby: true }],
    [[], { clockAheadMs: 2000 }],
    [['warning clock_differs'], { clockAheadMs: 2001 }],
    [['warning clock_differs'], { clockAheadMs: -86_400_000 }],
    [['trouble roles_missing'], { missingRoles: ['agent_knowledge_app'] }],
    [['trouble role_denied', 'warning login_is_superuser'], { deniedRoles: ['x'], loginIsSuperuser: true }],
  ])('is %j for %j', (expected, change) => {
    expect(unwell(checkServer('here', { ...server, ...change }))).toEqual(expected);
  });

  it('is compared with the clock of this machine', async () => {
    await using database = await createTestDatabase();
    const late = (): Date => new Date(Date.now() - 3_600_000);
    const { clockAheadMs } = await readServerFacts(database.applicationUrl, late);
    // However long the question took.
    expect(Math.abs(clockAheadMs - 3_600_000)).toBeLessThan(60_000);
    const here = await readServerFacts(database.applicationUrl, () => new Date());
    expect(Math.abs(here.clockAheadMs)).toBeLessThan(60_000);
  });

  it('names a database without its password, also where the URL carries one in another place', () => {
    const url = 'postgres://me:CANARY@db.example:6432/knowledge?password=CANARY&sslpassword=CANARY';
    expect(describeDatabase(url)).toBe('me@db.example:6432/knowledge');
    expect(describeDatabase('postgres:///knowledge')).toBe('localhost:5432/knowledge');
  });
});

describe('how changes are noticed', () => {
  const facts = { watchMode: 'auto', fileSystem: null, limits: null, registry: null, daemons: [] } as const;
  const nfs = { name: 'nfs', network: true };

  it.each([
    [[], facts],
    [[], { ...facts, fileSystem: nfs }],
    [[], { ...facts, fileSystem: nfs, watchMode: 'sweep' as const }],
    [['warning file_system'], { ...facts, fileSystem: nfs, watchMode: 'native' as const }],
    [[], { ...facts, limits: { maxWatches: 8192, maxInstances: 128 } }],
    [['warning inotify_limits'], { ...facts, limits: { maxWatches: 100, maxInstances: 128 } }],
    [['warning inotify_limits'], { ...facts, limits: { maxWatches: 8192, maxInstances: 1 } }],
    [[], { ...facts, watchMode: 'sweep' as const, limits: { maxWatches: 1, maxInstances: 1 } }],
  ])('is %j for %j', (expected, input) => {
    expect(unwell(checkWatcher(input))).toEqual(expected);
  });

  it('asks for no restart of a daemon whose events fail: it takes them up again by itself', () => {
    const condition = { watcher: 'degraded', watcherMessage: 'No watch is left.' } as const;
    const daemon = { host: 'h', processId: 1, condition } as unknown as Known['daemons'][number];
    const [check] = checkWatcher({ ...facts, daemons: [daemon] });
    expect(check).toMatchObject({ name: 'degraded', fix: expect.stringContaining('without a restart') });
  });
});

describe('the root and the disk', () => {
  const facts = { realPath: '/k', isLink: false, mayList: true, mayPass: true };
  const unasked = { root: '/k', facts: null, isOutOfReach: false, fileSystem: null };
  const present = { root: 'present', files: [], notices: [] } as const;
  const rootOf = (change: Partial<typeof facts>): string[] =>
    unwell(checkRoot({ ...unasked, look: present, facts: { ...facts, ...change } }));

  it('a root that may not be entered is trouble, one that may not be listed a warning', () => {
    expect(rootOf({})).toEqual([]);
    expect(rootOf({ mayPass: false })).toEqual(['trouble root_closed']);
    expect(rootOf({ mayList: false })).toEqual(['warning root_not_listed']);
  });

  it('a root that does not answer is trouble', () => {
    const look = { root: 'trouble', code: 'unreadable', message: 'It does not answer.' } as const;
    expect(unwell(checkRoot({ ...unasked, look }))).toEqual(['trouble unreadable']);
  });

  it('a root above which this user may not pass is no lost one', () => {
    const look = { root: 'trouble', code: 'root_missing', message: 'It may not be opened.' } as const;
    const [closed] = checkRoot({ ...unasked, look, isOutOfReach: true });
    expect(closed).toMatchObject({ name: 'root_closed', found: 'It may not be opened.' });
    expect(closed?.fix).toMatch(/^Run this as the user of the daemon\..*chmod \+rx/);
    // CONTROL: one that is not there is to be mounted.
    const [missing] = checkRoot({ ...unasked, look });
    expect(missing).toMatchObject({ name: 'root_missing', fix: expect.stringContaining('Mount') });
  });

  it.each([
    [[], 52, 1024],
    [['trouble disk_full'], 51, 1024],
    [['trouble disk_full'], 511, 100_000],
    [[], 513, 100_000],
  ])('is %j with %d of %d MiB free', (expected, free, total) => {
    const space = { path: '/d', freeBytes: free * mebibyte, totalBytes: total * mebibyte };
    const modes = { dataFolder: { path: '/d', mode: 0o700 }, secretFiles: [{ path: '/d/k', mode: 0o600 }] };
    expect(unwell(checkDisk({ spaces: [space], ...modes }))).toEqual(expected);
  });
});

describe('a package', () => {
  const command = commandsFor('production');
  const row = {
    agentKey: 'triage',
    environment: 'production',
    nextNumber: 2,
    activeNumber: 1,
    generation: 1,
    lastTicket: 1,
    hold: null,
    agentCode: 'c',
    stage: 's',
    packageVersion: 'v01',
    registryVersion: '1',
    enabled: true,
    listed: true,
  };
  const status = {
    ...row,
    watched: true,
    state: 'ok',
    lastLookAt: null,
    lastSuccessAt: null,
    outcome: null,
  } as const;
  const hold = {
    cause: 'SHRANK',
    actorId: 1,
    actorName: null,
    at: new Date(0),
    reason: 'Half is gone.',
  } as const;
  const well = { ...status, reason: null, message: null, stale: false };
  const unversioned = { ...row, nextNumber: 1, activeNumber: null };

  it.each([
    ['has an active version', [], row, well],
    ['has versions and none is active', ['warning pending'], { ...row, activeNumber: null }, well],
    ['has a newer version that waits', ['warning pending'], { ...row, nextNumber: 11 }, well],
    ['is held and has a newer version', ['warning held'], { ...row, nextNumber: 11, hold }, well],
    ['is watched and has no version', ['trouble no_version'], unversioned, well],
    ['is not watched and has no version', [], unversioned, { ...well, watched: false }],
    ['has never been looked at', [], unversioned, undefined],
    ['is not enabled', [], { ...unversioned, enabled: false }, well],
    ['is held because it shrank', ['warning held'], { ...row, hold }, well],
    ['is stale with nobody watching', ['warning stale'], row, { ...well, stale: true }],
  ])('that %s is %j', (_, expected, found, seen) => {
    const known = { packages: [{ row: found, status: seen }], daemons: [] } as unknown as Known;
    expect(unwell(checkPackages(known, command))).toEqual(expected);
  });

  const knownOf = (
    packages: readonly { readonly row: typeof row | typeof unversioned; readonly status: unknown }[],
    daemons: readonly unknown[] = [{}],
  ): Known => ({ packages, daemons, waiting: [] }) as unknown as Known;
  const lastOf = (found: object, seen: object = well, daemons?: readonly unknown[]) =>
    checkPackages(knownOf([{ row: { ...row, ...found }, status: seen }], daemons), command).at(-1);

  it('that has a newer version than the active one says which, and how to activate it', () => {
    expect(lastOf({ nextNumber: 11, environment: 'dev' })).toMatchObject({
      found: 'triage (dev): v1 is active; v10 waits for activation.',
      fix: expect.stringContaining('"npx agent-knowledge activate triage v10 --env dev"'),
    });
    expect(lastOf({ activeNumber: null })?.found).toBe(
      'triage (production): none is active; v1 waits for activation.',
    );
  });

  it('has fixes that run as they are printed, and an author is told of no command', () => {
    const stale = { ...well, stale: true };
    const failed = { ...well, outcome: 'FAILED', reason: 'root_missing' };
    const fixes = [
      lastOf({ hold, environment: 'dev' }),
      lastOf({ environment: 'dev' }, stale),
      lastOf({ environment: 'dev' }, stale, []),
      lastOf({ ...unversioned, environment: 'dev' }, failed),
    ].map((check) => [check?.who, /"(.*?)"/.exec(check?.fix ?? '')?.[1]]);
    expect(fixes).toEqual(
      ['release', 'plan', 'refresh', 'plan'].map((verb) => [
        'operator',
        `npx agent-knowledge ${verb} triage --env dev`,
      ]),
    );
    expect(lastOf({ hold })?.fix).toContain('"npx agent-knowledge release triage"');
    for (const change of [
      { outcome: 'VALIDATION_FAILED', reason: 'script_markup' },
      { outcome: 'FAILED', reason: 'missing_required' },
    ]) {
      const refused = lastOf(unversioned, { ...well, ...change });
      expect(refused).toMatchObject({ name: 'no_version', who: 'author' });
      expect(refused?.fix).not.toContain('npx');
    }
  });

  it('whose request waits is named in the command that answers it, in good English', () => {
    const waiting = [{ agentKey: 'triage', environment: 'dev', requests: 1, oldestSeconds: 90 }];
    const [check] = checkQueue({ ...knownOf([], []), waiting }, command);
    expect(check?.found).toBe('1 request for triage (dev) waits, the oldest for 90 s.');
    expect(check?.fix).toContain('"npx agent-knowledge refresh triage --env dev"');
  });

  it('is counted where it is watched; elsewhere it is told how many were never asked for', () => {
    const countOf = (...packages: Parameters<typeof knownOf>[0]): string | undefined =>
      checkPackages(knownOf(packages), command)[0]?.found;
    const unwatched = { ...well, watched: false };
    const [mine, unasked] = [
      { row, status: well },
      { row: unversioned, status: undefined },
    ];
    expect(countOf(mine)).toBe('1 of 1 watched package has an active version.');
    expect(countOf(mine, unasked, unasked)).toBe(
      '1 of 1 watched package has an active version. In unwatched environments 0 of 2 have one; 2 were never asked for.',
    );
    const looked = { row: unversioned, status: { ...unwatched, lastLookAt: new Date(0) } };
    expect(countOf({ row, status: unwatched }, looked, unasked)).toBe(
      'No enabled package is watched. In unwatched environments 1 of 3 has one; 1 was never asked for.',
    );
  });
});

describe('a diagnosis', () => {
  it('goes on when a check cannot be made, and says why', async () => {
    const checks = await told('disk', () => Promise.reject(new Error('EIO: of\nthe disk')));
    expect(checks).toMatchObject([{ area: 'disk', name: 'not_checked', state: 'trouble' }]);
    expect(checks[0]?.found).toBe('This could not be checked: EIO: of the disk');
  });

  it('that this user may not make is for the user of the daemon', async () => {
    const denied = Object.assign(new Error('EACCES'), { code: 'EACCES' });
    const failing = (error: Error) =>
      told('registry', async () => {
        throw error;
      });
    const [check] = await failing(new Error('The registry cannot be read: /r.', { cause: denied }));
    expect(check?.fix).toContain('Run this as the user of the daemon');
    const [other] = await failing(new Error('EIO'));
    expect(other?.fix).not.toContain('user of the daemon');
    const unknown = checkUnknownDatabase(new Error('postgres.json could not be read', { cause: denied }));
    expect(unknown).toMatchObject({
      name: 'no_database',
      fix: expect.stringMatching(/as the user of "npm start"/),
    });
    expect(checkUnknownDatabase(new Error('not JSON')).fix).not.toContain('as the user');
  });

  it('that ends with refused settings warns of what it did not check', () => {
    expect(unwell(checkFaultySettings(['PORT: x']))).toEqual([
      'trouble setting_refused',
      'warning not_checked',
    ]);
  });

  it('counts what nobody would read any more, and keeps the worst of it', () => {
    const advice = { meaning: 'm', fix: 'f', who: 'author' } as const;
    const finds = (found: string) => ({ area: 'files', name: 'x', found }) as const;
    const checks = [warn(finds('1'), advice), warn(finds('2'), advice), trouble(finds('3'), advice)];
    expect(firstChecks(checks, 3)).toEqual(checks);
    expect(firstChecks(checks, 1)).toEqual([
      checks[0],
      {
        ...checks[2],
        name: 'more',
        found: '2 more checks of this kind are not well.',
        fix: 'Mend those above, and run this again.',
      },
    ]);
    expect(firstChecks(checks, 2).at(-1)?.found).toBe('1 more check of this kind is not well.');
  });
});
