import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { makeCliPlace, rules, type CliPlace } from './cli-place.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database[Symbol.asyncDispose]());

/** A place whose package has versions v1 to v3 unless fewer will do, the newest active. */
async function makeHistory(versions = 3): Promise<CliPlace> {
  const place = await makeCliPlace(database);
  for (const word of ['one', 'two', 'three'].slice(0, versions)) {
    await place.put(rules, word);
    await place.run('refresh', place.agentKey);
  }
  return place;
}

describe('activate', () => {
  it('moves the pointer and tells where it stands', async () => {
    await using place = await makeHistory();
    const back = await place.run('activate', place.agentKey, 'v1');
    expect(back).toEqual({
      code: 0,
      out: `${place.agentKey} (production): v1 is active; v3 waits to be activated\n`,
      err: '',
    });
    expect(await place.json('activate', place.agentKey, 'v3')).toMatchObject({
      code: 0,
      body: {
        active: { knowledgeVersion: 'v3' },
        newest: { knowledgeVersion: 'v3' },
        pending: null,
        generation: 5,
      },
    });
  });

  it('holds where it is told to, with the reason, which a terminal gets without its control characters', async () => {
    await using place = await makeHistory();
    const { out } = await place.run('activate', place.agentKey, 'v2', '--hold', '--reason', 'wrong\u001b[2J');
    expect(out).toMatch(/: v2 is active; held by .+: wrong\\u001b\[2J\n$/);
    await place.put(rules, 'four');
    await place.run('refresh', place.agentKey);
    expect((await place.json('show', place.agentKey)).body).toMatchObject({ knowledgeVersion: 'v2' });
  });

  it('changes nothing where another version is active than was expected', async () => {
    await using place = await makeHistory();
    const { code, out, err } = await place.run('activate', place.agentKey, 'v1', '--expected', 'v2');
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toContain('Expected v2 to be active; v3 is.');
    expect((await place.run('activate', place.agentKey, 'v1', '--expected', 'v3')).code).toBe(0);
  });

  it('of a version that is not there names the list of those that are', async () => {
    await using place = await makeHistory(1);
    const { code, err } = await place.run('activate', place.agentKey, 'v9');
    expect(code).toBe(1);
    expect(err).toContain(
      `The newest is v1; "npx agent-knowledge versions ${place.agentKey}" lists them all.`,
    );
  });
});

describe('hold and release', () => {
  it('stop and start the pointer', async () => {
    await using place = await makeHistory();
    expect(await place.json('hold', place.agentKey, '--reason', ' review ')).toMatchObject({
      code: 0,
      body: { hold: { reason: 'review', cause: 'operator' } },
    });
    await place.put(rules, 'four');
    await place.run('refresh', place.agentKey);
    expect(await place.json('release', place.agentKey)).toMatchObject({
      code: 0,
      body: { hold: null, active: { knowledgeVersion: 'v3' }, pending: { knowledgeVersion: 'v4' } },
    });
    const { out } = await place.run('release', place.agentKey, '--activate-newest');
    expect(out).toBe(`${place.agentKey} (production): v4 is active\n`);
  });

  it('take a reason of 1 to 500 characters: another one is wrong usage', async () => {
    await using place = await makeHistory(1);
    for (const reason of ['', ' ', 'x'.repeat(501), '--json']) {
      const { code, err } = await place.run('hold', place.agentKey, '--reason', reason);
      expect(code).toBe(64);
      expect(err).toContain('1 to 500 characters');
    }
  });
});

describe('promote', () => {
  it('makes the content of a version the next version of another environment', async () => {
    await using place = await makeHistory();
    const promote = (...more: string[]) =>
      place.json('promote', place.agentKey, 'v2', '--from', 'production', '--to', 'staging', ...more);
    expect(await promote('--hold', '--reason', 'first look')).toMatchObject({
      code: 0,
      body: { environment: 'staging', outcome: 'loaded', knowledgeVersion: 'v1' },
    });
    expect(await promote()).toMatchObject({
      code: 0,
      body: { outcome: 'unchanged', reason: 'same_checksum', matchingVersion: 'v1' },
    });
    expect((await place.json('packages', '--env', 'staging')).body).toMatchObject({
      packages: expect.arrayContaining([
        expect.objectContaining({
          agentKey: place.agentKey,
          hold: expect.objectContaining({ reason: 'first look' }),
        }),
      ]),
    });
  });

  it.each([
    ['v9', 'production', 'staging', 1, 'The newest is v1; "npx agent-knowledge versions'],
    ['v1', 'production', 'prod', 1, 'No environment "prod"'],
    ['v1', 'production', 'production', 64, 'from and to must differ'],
  ])('of %s from %s to %s ends with %i', async (version, from, to, code, words) => {
    await using place = await makeHistory(1);
    const ended = await place.run('promote', place.agentKey, version, '--from', from, '--to', to);
    expect(ended).toMatchObject({ code, out: '' });
    expect(ended.err).toContain(words);
  });
});
