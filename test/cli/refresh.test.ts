import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { beatDaemon, leaveDaemon, makeLooker } from '../../src/operations/looker.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { heartbeatOf } from '../support/fake-daemon.ts';
import { document } from '../support/registry-documents.ts';
import { core, makeCliPlace, rules, usualAgent } from './cli-place.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database[Symbol.asyncDispose]());

describe('refresh without a daemon', () => {
  it('looks itself, stores the version and makes it active; again it is unchanged', async () => {
    await using place = await makeCliPlace(database);
    const { agentKey } = place;
    const loaded = await place.json('refresh', agentKey);
    expect(loaded).toEqual({
      code: 0,
      body: {
        agentKey,
        environment: 'production',
        id: expect.stringMatching(/^ref_/),
        state: 'done',
        outcome: 'loaded',
        knowledgeVersion: 'v1',
        matchingVersion: null,
        reason: null,
        message: 'v1 is active.',
        faults: [],
        warnings: [],
      },
    });
    const again = await place.json('refresh', agentKey);
    expect(again).toMatchObject({
      code: 0,
      body: { outcome: 'unchanged', reason: 'same_checksum', knowledgeVersion: null, matchingVersion: 'v1' },
    });
    const text = await place.run('refresh', agentKey);
    expect(text).toMatchObject({ code: 0, err: '' });
    expect(text.out).toMatch(/^triage_\d+ \(production\): unchanged \(v1\)\. .*\n$/);
  });

  it('refreshes the environment that is asked for and no other', async () => {
    await using place = await makeCliPlace(database);
    await place.json('refresh', place.agentKey, '--env', 'dev');
    expect((await place.json('versions', place.agentKey, '--env', 'dev')).body).toMatchObject({
      totalCount: 1,
    });
    expect((await place.json('versions', place.agentKey)).body).toMatchObject({ totalCount: 0 });
  });

  it('tells every fault and exits with 1; what was active stays active', async () => {
    await using place = await makeCliPlace(database);
    await place.run('refresh', place.agentKey);
    await place.put(core, 'a <script b');
    await place.put(rules, 'a <iframe b');
    const { code, body } = await place.json('refresh', place.agentKey);
    expect({ code, body }).toMatchObject({
      code: 1,
      body: {
        outcome: 'validation_failed',
        reason: 'script_markup',
        knowledgeVersion: null,
        faults: [
          { code: 'script_markup', relativePath: core, line: 1 },
          { code: 'frame_markup', relativePath: rules, line: 1 },
        ],
      },
    });
    const { out } = await place.run('refresh', place.agentKey);
    expect(out.split('\n')[0]).toContain('validation_failed (script_markup); what was active stays active.');
    expect((await place.json('show', place.agentKey)).body).toMatchObject({ knowledgeVersion: 'v1' });
  });

  it('holds a package that lost most of itself, unless the loss is meant', async () => {
    await using place = await makeCliPlace(database);
    await place.put(rules, 'x'.repeat(9000));
    await place.run('refresh', place.agentKey);
    await place.put(rules, 'short');
    const held = await place.json('refresh', place.agentKey);
    expect(held).toMatchObject({ code: 0, body: { outcome: 'loaded', knowledgeVersion: 'v2' } });
    expect((await place.json('show', place.agentKey)).body).toMatchObject({ knowledgeVersion: 'v1' });

    await using other = await makeCliPlace(database);
    await other.put(rules, 'x'.repeat(9000));
    await other.run('refresh', other.agentKey);
    await other.put(rules, 'short');
    await other.run('refresh', other.agentKey, '--accept-shrink');
    expect((await other.json('show', other.agentKey)).body).toMatchObject({ knowledgeVersion: 'v2' });
  });

  it('of everything gives each enabled agent a line, and exits with 1 when one failed', async () => {
    await using place = await makeCliPlace(database);
    const [good, bad, off] = [`${place.agentKey}_a`, `${place.agentKey}_b`, `${place.agentKey}_c`];
    await place.putRegistry(
      document({
        [good]: usualAgent(),
        [bad]: usualAgent({ files: [{ relative_path: 'gone.md', load_order: 1, required: true }] }),
        [off]: usualAgent({ enabled: false }),
      }),
    );
    const { code, out, err } = await place.run('refresh', '--all');
    expect({ code, err }).toEqual({ code: 1, err: '' });
    expect(out.trimEnd().split('\n')).toEqual([
      `${good} (production): loaded v1. v1 is active.`,
      expect.stringContaining(
        `${bad} (production): failed (missing_required). Required file not found: gone.md`,
      ),
    ]);
    const { body } = await place.json('refresh', '--all');
    expect(body).toMatchObject({
      environment: 'production',
      refreshes: [
        { agentKey: good, outcome: 'unchanged' },
        { agentKey: bad, outcome: 'failed', reason: 'missing_required' },
      ],
      registryFaults: [],
    });
  });

  it('makes one version when five look at once, and all five are content', async () => {
    await using place = await makeCliPlace(database);
    const ends = await Promise.all(Array.from({ length: 5 }, () => place.json('refresh', place.agentKey)));
    expect(ends.map(({ code }) => code)).toEqual([0, 0, 0, 0, 0]);
    expect((await place.json('versions', place.agentKey)).body).toMatchObject({ totalCount: 1 });
  });

  it('answers registry_rejected for a registry that became invalid, and the last good one stays', async () => {
    await using place = await makeCliPlace(database);
    await place.run('refresh', place.agentKey);
    await place.putRegistry('{');
    const { code, body } = await place.json('refresh', place.agentKey);
    expect(code).toBe(1);
    expect(body).toMatchObject({ outcome: 'registry_rejected', reason: 'registry_bad_json' });
    expect((await place.json('show', place.agentKey)).body).toMatchObject({ knowledgeVersion: 'v1' });
  });

  it('answers agent_disabled for a disabled agent, whose versions are read as before (G-11)', async () => {
    await using place = await makeCliPlace(database);
    await place.run('refresh', place.agentKey);
    await place.putRegistry(document({ [place.agentKey]: usualAgent({ enabled: false }) }));
    const { code, body } = await place.json('refresh', place.agentKey);
    expect({ code, body }).toMatchObject({ code: 1, body: { outcome: 'failed', reason: 'agent_disabled' } });
    expect((await place.json('show', place.agentKey)).body).toMatchObject({ knowledgeVersion: 'v1' });
  });

  it('says in one line that the registry lists no such agent', async () => {
    await using place = await makeCliPlace(database);
    const { code, out, err } = await place.run('refresh', 'nobody');
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toBe(
      'agent-knowledge: No agent "nobody" in environment "production". "npx agent-knowledge packages" lists them all.\n',
    );
  });

  it('answers root_missing when the whole folder is gone, never that its files were deleted', async () => {
    await using place = await makeCliPlace(database);
    await place.run('refresh', place.agentKey);
    await rm(place.root, { recursive: true });
    const { body } = await place.json('refresh', place.agentKey);
    expect(body).toMatchObject({ outcome: 'failed', reason: 'root_missing' });
  });
});

describe('refresh on a database that has never seen a valid registry', () => {
  it('answers registry_rejected with every fault, for one agent and for all', async () => {
    await using fresh = await createTestDatabase();
    await using place = await makeCliPlace(fresh);
    await writeFile(join(place.folder, 'registry.json'), '{"agents": 5}');
    const one = await place.json('refresh', place.agentKey);
    expect(one).toMatchObject({
      code: 1,
      body: {
        agentKey: place.agentKey,
        id: null,
        state: 'done',
        outcome: 'registry_rejected',
        reason: 'missing_field',
        faults: [{ code: 'missing_field' }, { code: 'registry_bad_shape' }],
      },
    });
    const all = await place.json('refresh', '--all');
    expect(all).toMatchObject({
      code: 1,
      body: { refreshes: [], registryFaults: [{ code: 'missing_field' }, {}] },
    });
    const { code, out } = await place.run('refresh', '--all');
    expect(code).toBe(1);
    expect(out.split('\n')[0]).toBe(
      'production: registry_rejected (missing_field); there is no registry in force.',
    );
  });
});

describe('refresh with a live daemon', () => {
  it('asks it, and says so when it has not answered in time', async () => {
    await using own = await createTestDatabase();
    await using place = await makeCliPlace(own);
    await place.run('refresh', place.agentKey);
    const context = own.context();
    const looker = await makeLooker(context, { id: 'silent', kind: 'daemon', name: 'silent daemon' });
    // It lives and never looks.
    await beatDaemon(context, heartbeatOf(looker));

    const { code, body } = await place.json('refresh', place.agentKey, '--wait', '0');
    expect({ code, body }).toMatchObject({ code: 1, body: { state: 'queued', outcome: null } });
    const { out } = await place.run('refresh', place.agentKey, '--wait', '1');
    expect(out).toContain('still queued; the request ref_');
    expect((await place.json('refresh', '--all', '--wait', '0')).body).toMatchObject({
      refreshes: [{ agentKey: place.agentKey, state: 'queued' }],
    });

    await leaveDaemon(context, looker);
    expect(await place.json('refresh', place.agentKey)).toMatchObject({
      code: 0,
      body: { outcome: 'unchanged' },
    });
  });
});
