import { describe, expect, test } from 'vitest';
import { loadSettings, SettingsError } from '../../config/settings.ts';

const root = '/srv/agent knowledge';
const load = (variables: Record<string, string> = {}) =>
  loadSettings(
    Object.fromEntries(Object.entries(variables).map(([name, value]) => [`AGENT_KNOWLEDGE_${name}`, value])),
    root,
  );

describe('settings', () => {
  test('have the defaults of the interface (K-093…K-097)', () => {
    expect(load()).toMatchObject({
      source: 'local',
      registryPath: `${root}/config/agent_knowledge_registry.json`,
      environments: ['dev', 'staging', 'production'],
      defaultEnvironment: 'production',
      watchEnvironments: ['production'],
      maxFileBytes: 1_048_576,
      localPath: `${root}/.data/knowledge`,
      settle: { dev: 'fast', staging: 'settled', production: 'settled' },
      activate: { dev: 'auto', staging: 'auto', production: 'auto' },
      sweepMs: 1000,
      resyncSeconds: 30,
      host: '127.0.0.1',
      port: 4000,
      auth: 'required',
      databaseUrl: null,
      idle: [],
    });
  });

  test('take relative paths from the project root and absolute ones as they are', () => {
    expect(load({ LOCAL_PATH: 'x/y' }).localPath).toBe(`${root}/x/y`);
    expect(load({ LOCAL_PATH: '/mnt/drive' }).localPath).toBe('/mnt/drive');
    expect(load({ DATA_DIR: '/var/d' }).localPath).toBe('/var/d/knowledge');
  });

  test('count an empty variable as unset', () => {
    expect(load({ PORT: '', DATABASE_URL: '' })).toMatchObject({ port: 4000, databaseUrl: null });
  });

  test('watch the default environment unless told otherwise', () => {
    expect(load({ DEFAULT_ENV: 'dev' }).watchEnvironments).toEqual(['dev']);
    expect(load({ WATCH_ENVIRONMENTS: 'dev, staging' }).watchEnvironments).toEqual(['dev', 'staging']);
  });

  test.each([
    ['settled', { dev: 'settled', staging: 'settled', production: 'settled' }],
    ['production=fast', { dev: 'fast', staging: 'settled', production: 'fast' }],
  ])('settle %s sets every environment', (value, expected) => {
    expect(load({ SETTLE: value }).settle).toEqual(expected);
  });

  test.each([
    ['SOURCE', 'ftp'],
    ['ENVIRONMENTS', 'Dev'],
    ['ENVIRONMENTS', 'dev,,x'],
    ['DEFAULT_ENV', 'elsewhere'],
    ['WATCH_ENVIRONMENTS', 'dev,nowhere'],
    ['MAX_FILE_SIZE', '0'],
    ['MAX_FILE_SIZE', '1e3'],
    ['MAX_FILE_SIZE', '99999999999'],
    ['WATCH_MODE', 'polling'],
    ['SETTLE', 'slow'],
    ['SETTLE', 'nowhere=fast'],
    ['ACTIVATE', 'production=maybe'],
    ['SWEEP_MS', '-5'],
    ['RESYNC_SECONDS', '0'],
    ['SHRINK_HOLD', 'yes'],
    ['SECOND_PERSON', 'nowhere'],
    ['DATABASE_URL', 'mysql://host/db'],
    ['DATABASE_ADMIN_URL', 'postgres://host/db'],
    ['MIGRATE', 'maybe'],
    ['PORT', '65536'],
    ['PUBLIC_URL', 'knowledge.example.org'],
    ['AUTH', 'none'],
    ['LOG_LEVEL', 'loud'],
    ['WEBHOOK_URL', 'ftp://hooks.example.org'],
    ['WEBHOOK_URL', 'https://hooks.example.org'],
    ['WEBHOOK_SECRET', '0123456789abcdef'],
    ['WEBHOOK_SECRET', 'whsec_'],
    ['WEBHOOK_SECRET', 'whsec_not base64 at all, though long'],
  ])('refuse %s=%s naming the variable', (name, value) => {
    expect(() => load({ [name]: value })).toThrowError(new RegExp(`AGENT_KNOWLEDGE_${name}: `));
  });

  test('tell every fault at once, also those that only show between two variables', () => {
    const wrong = { PORT: 'x', SETTLE: 'slow', DEFAULT_ENV: 'prod', AUTH: 'off', HOST: '0.0.0.0' };
    const faults = faultsOf(wrong);
    expect(faults.map((fault) => fault.split(':')[0])).toEqual(
      expect.arrayContaining(
        ['PORT', 'SETTLE', 'DEFAULT_ENV', 'AUTH'].map((name) => `AGENT_KNOWLEDGE_${name}`),
      ),
    );
  });

  test('never show a secret', () => {
    const faults = faultsOf({ DATABASE_URL: 'mysql://me:hunter2@host/db', DATABASE_ADMIN_URL: 'hunter2' });
    expect(faults).toHaveLength(2);
    expect(faults.join()).not.toContain('hunter2');
    const both = faultsOf({ WEBHOOK_URL: 'gopher://me:hunter2@host/', WEBHOOK_SECRET: 'whsec_hunter2!' });
    expect(both).toHaveLength(2);
    expect(both.join()).not.toContain('hunter2');
  });

  test('sign notices with the bytes of the letters, or with those that whsec_ stands for', () => {
    const secretOf = (secret: string) =>
      load({ WEBHOOK_URL: 'https://me:word@hooks.example.org/x?y=z', WEBHOOK_SECRET: secret }).webhook;
    expect(load().webhook).toBeNull();
    expect(secretOf('a secret of 22 letters')).toEqual({
      url: 'https://me:word@hooks.example.org/x?y=z',
      secret: new TextEncoder().encode('a secret of 22 letters'),
    });
    const bytes = Uint8Array.from({ length: 24 }, (_, index) => index * 10);
    expect(secretOf(`whsec_${Buffer.from(bytes).toString('base64')}`)?.secret).toEqual(bytes);
  });

  test.each(['127.0.0.1', 'localhost', '::1', '127.8.8.8'])('allow no authentication on %s', (host) => {
    expect(load({ AUTH: 'off', HOST: host }).auth).toBe('off');
  });

  test.each(['0.0.0.0', '::', '10.0.0.4', '127.0.0.1.example.org', 'knowledge'])(
    'refuse it on %s',
    (host) => {
      expect(() => load({ AUTH: 'off', HOST: host })).toThrow('loopback');
    },
  );

  test('name variables that have no effect', () => {
    expect(load({ PROT: '4000', SETLE: 'fast', ELSEWHERE: 'x', DAEMON_PORT: '4001' }).idle).toEqual([
      'AGENT_KNOWLEDGE_PROT (unknown; did you mean AGENT_KNOWLEDGE_PORT?)',
      'AGENT_KNOWLEDGE_SETLE (unknown; did you mean AGENT_KNOWLEDGE_SETTLE?)',
      'AGENT_KNOWLEDGE_ELSEWHERE (unknown)',
      'AGENT_KNOWLEDGE_DAEMON_PORT (not part of this version yet)',
    ]);
  });
});

function faultsOf(variables: Record<string, string>): readonly string[] {
  try {
    load(variables);
  } catch (error) {
    if (error instanceof SettingsError) return error.faults;
  }
  throw new Error('The settings were accepted.');
}
