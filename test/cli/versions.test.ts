import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { document } from '../support/registry-documents.ts';
import { core, makeCliPlace, rules, usualAgent, type CliPlace } from './cli-place.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database[Symbol.asyncDispose]());

/** A package with `count` versions. */
async function load(place: CliPlace, count: number): Promise<void> {
  for (let number = 1; number <= count; number += 1) {
    await place.put(rules, `# Rules\nThe ${number}th.\n`);
    await place.run('refresh', place.agentKey);
  }
}

describe('versions', () => {
  it('are an aligned table, newest first, with a mark at the active one', async () => {
    await using place = await makeCliPlace(database);
    await load(place, 2);
    const { code, out, err } = await place.run('versions', place.agentKey);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    const [heading = '', ...lines] = out.trimEnd().split('\n');
    expect(heading).toMatch(
      /^VERSION {2}ACTIVE {2}LABEL {2}FILES {2}BYTES {2}CHECKSUM {6}LOADED {16}BY {2,}WARNINGS$/,
    );
    expect(lines).toEqual([
      expect.stringMatching(
        /^v2 {7}\* {7}v01 {8}2 {5}\d\d {2}[0-9a-f]{12} {2}\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ {2}/,
      ),
      expect.stringMatching(/^v1 {15}v01 {8}2 /),
    ]);
    const at = heading.indexOf('CHECKSUM');
    for (const line of lines) expect(line.slice(at - 2, at + 12)).toMatch(/^ {2}[0-9a-f]{12}$/);
  });

  it('are a document with the fields of GraphQL, and no more than asked for', async () => {
    await using place = await makeCliPlace(database);
    await load(place, 3);
    const { code, body } = await place.json('versions', place.agentKey, '--limit', '2');
    expect(code).toBe(0);
    expect(body).toEqual({
      agentKey: place.agentKey,
      environment: 'production',
      totalCount: 3,
      versions: [
        {
          packageId: expect.any(Number),
          agentKey: place.agentKey,
          environment: 'production',
          agentCode: 'AUTO-100',
          stage: 'triage',
          knowledgeVersion: 'v3',
          packageVersion: 'v01',
          registryVersion: '1.0',
          checksum: expect.stringMatching(/^[0-9a-f]{64}$/),
          fileCount: 2,
          totalSizeBytes: 33,
          sourceType: 'local',
          status: 'active',
          isActive: true,
          loadedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
          loadedBy: expect.any(String),
          sourceStale: false,
          generation: 3,
          warnings: [],
        },
        expect.objectContaining({ knowledgeVersion: 'v2', status: 'superseded', isActive: false }),
      ],
    });
    const { err } = await place.run('versions', place.agentKey, '--limit', '2');
    expect(err).toBe('1 older ones are not shown; --limit 3 shows all.\n');
  });

  it('of a package without any, and of one that is not there', async () => {
    await using place = await makeCliPlace(database);
    await place.run('refresh', place.agentKey, '--env', 'dev');
    expect(await place.run('versions', place.agentKey)).toEqual({
      code: 0,
      out: `${place.agentKey} (production) has no version yet.\n`,
      err: '',
    });
    const nobody = await place.run('versions', 'nobody');
    expect(nobody).toMatchObject({ code: 1, out: '' });
    expect(nobody.err).toContain('"npx agent-knowledge packages"');
  });
});

describe('packages', () => {
  it('lists every agent with its pointer, its hold and its source', async () => {
    await using own = await createTestDatabase();
    await using place = await makeCliPlace(own);
    await place.putRegistry(document({ first: usualAgent(), second: usualAgent({ enabled: false }) }));
    expect((await place.run('packages')).out).toContain('No packages in production yet.');
    await place.run('refresh', 'first');
    await place.run('hold', 'first', '--reason', 'a\u202eb');
    await place.put(core, '# Core\nBe kinder.\n');
    await place.run('refresh', 'first');

    const { code, out } = await place.run('packages');
    expect(code).toBe(0);
    const [heading, first, second] = out.trimEnd().split('\n');
    expect(heading).toMatch(/^AGENT +ACTIVE +NEWEST +ENABLED +SOURCE +LAST SUCCESS +STATE$/);
    expect(first).toMatch(/^first +v1 +v2 +yes +ok +\d{4}-.*Z +held by .+: a\\u202eb$/);
    expect(second).toMatch(/^second +- +- +no +unknown +-$/);

    const { body } = await place.json('packages');
    expect(body).toMatchObject({
      environment: 'production',
      packages: [
        {
          agentKey: 'first',
          enabled: true,
          listed: true,
          active: { knowledgeVersion: 'v1', isActive: true },
          newest: { knowledgeVersion: 'v2', isActive: false },
          pending: null,
          hold: { reason: 'a\u202eb', cause: 'operator', actor: expect.any(String), at: expect.any(String) },
          generation: 1,
          sourceStale: false,
          sourceStatus: { watched: true, state: 'ok', outcome: 'loaded', reason: null },
        },
        { agentKey: 'second', enabled: false, active: null, newest: null, pending: null, hold: null },
      ],
    });
  });
});
