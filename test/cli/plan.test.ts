import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundleChecksum, sha256 } from '../../src/core/checksum.ts';
import type { RelativePath } from '../../src/core/package.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { document, file, type Json } from '../support/registry-documents.ts';
import { core, makeCliPlace, notes, rules, usualAgent, type CliPlace } from './cli-place.ts';

type Arrange = (place: CliPlace) => unknown;

const rulesOf =
  (content: string | Uint8Array): Arrange =>
  (place) =>
    place.put(rules, content);
const registryOf =
  (content: string | Uint8Array): Arrange =>
  (place) =>
    place.putRegistry(content);
const agentOf =
  (changes: Json): Arrange =>
  (place) =>
    place.putRegistry(document({ [place.agentKey]: usualAgent(changes) }));
const pathOf = (path: string): Arrange => agentOf({ files: [file(core, 1), file(path, 2)] });

async function planWithout(arrange: Arrange) {
  await using place = await makeCliPlace(null);
  await arrange(place);
  return await place.json('plan', place.agentKey, '--no-db');
}

describe('plan without a database', () => {
  it('says what would be loaded, with the manifest it would have, and exits with 2', async () => {
    await using place = await makeCliPlace(null);
    const { code, body } = await place.json('plan', place.agentKey, '--no-db', '--env', 'dev');
    const files = [
      { relativePath: core, text: '# Core\nBe kind.\n' },
      { relativePath: rules, text: '# Rules\nAsk first.\n' },
    ].map(({ relativePath, text }, index) => ({
      relativePath: relativePath as RelativePath,
      loadOrder: index + 1,
      required: true,
      checksum: sha256(text),
      sizeBytes: text.length,
    }));
    expect(code).toBe(2);
    expect(body).toEqual({
      agentKey: place.agentKey,
      environment: 'dev',
      outcome: 'loaded',
      reason: null,
      message:
        'Counted as a new package: v1 would be stored and active. Without the database neither the number is known nor whether it is new.',
      faults: [],
      warnings: [],
      knowledgeVersion: 'v1',
      checksum: bundleChecksum(files),
      activates: true,
      files,
    });
  });

  it.each<[code: string, arrange: Arrange]>([
    ['registry_bom', registryOf(`\ufeff${JSON.stringify(document({ a: usualAgent() }))}`)],
    ['empty_optional', (place) => place.put(notes, ' \n')],
    ['utf8_bom', rulesOf('\ufeff# Rules\n')],
    ['control_characters', rulesOf('a\u0007b')],
    ['zero_width_text', rulesOf('pasted\ufefftogether')],
    ['suspicious_markup', rulesOf('a < script of ours')],
    ['data_uri', rulesOf('[x](data:text/html,hello)')],
    ['conflict_copy_present', (place) => place.put('Triage/rules-DESKTOP-7AB12CD.md', 'old')],
  ])('loads with the warning %s', async (code, arrange) => {
    await using place = await makeCliPlace(null);
    await arrange(place);
    const agentKey = code === 'registry_bom' ? 'a' : place.agentKey;
    const { code: exitCode, body } = await place.json('plan', agentKey, '--no-db');
    expect(body).toMatchObject({ outcome: 'loaded', reason: null, faults: [], warnings: [{ code }] });
    expect(exitCode).toBe(2);
  });

  it.each<[reason: string, arrange: Arrange]>([
    ['registry_missing', (place) => rm(place.registryPath)],
    ['registry_bad_json', registryOf('{"registry_version": "1.0", "agents": {')],
    ['registry_not_utf8', registryOf(new Uint8Array([0xff, 0xfe, 0x7b, 0]))],
    ['registry_bad_shape', registryOf('[]')],
    ['duplicate_key', registryOf('{"registry_version": "1.0", "registry_version": "1.1", "agents": {}}')],
    ['missing_field', registryOf('{"agents": {}}')],
    ['bad_type', agentOf({ enabled: 'false' })],
    ['bad_agent_key', (place) => place.putRegistry(document({ 'a/b': usualAgent() }))],
    ['duplicate_load_order', agentOf({ files: [file(core, 1), file(rules, 1)] })],
    ['bad_load_order', agentOf({ files: [file(core, -1)] })],
    ['empty_path', pathOf('')],
    ['duplicate_path', pathOf('shared/CORE.md')],
    ['path_traversal', pathOf('a/../../b.md')],
    ['absolute_path', pathOf('C:/b.md')],
    ['wildcard_path', pathOf('Triage/**')],
    ['non_canonical_path', pathOf('./b.md')],
    ['bad_path_character', pathOf('b\u200b.md')],
    ['reserved_name', pathOf('nul.md')],
    ['path_too_long', pathOf(`${'b'.repeat(200)}/${'b'.repeat(200)}/b.md`)],
  ])('answers registry_rejected with the reason %s and exits with 1', async (reason, arrange) => {
    const { code, body } = await planWithout(arrange);
    expect(body).toMatchObject({
      outcome: 'registry_rejected',
      reason,
      faults: [{ code: reason, message: body['message'] }],
      knowledgeVersion: null,
      checksum: null,
      activates: false,
      files: [],
    });
    expect(code).toBe(1);
  });

  it.each<[reason: string, arrange: Arrange]>([
    ['missing_required', (place) => rm(join(place.root, rules))],
    ['empty_required', rulesOf(' \n\t')],
    [
      'not_regular_file',
      async (place) => {
        await rm(join(place.root, rules));
        await mkdir(join(place.root, rules));
      },
    ],
    [
      'path_escapes_root',
      async (place) => {
        await rm(join(place.root, rules));
        await writeFile(join(place.folder, 'outside.md'), 'x');
        await symlink(join(place.folder, 'outside.md'), join(place.root, rules));
      },
    ],
    ['root_missing', (place) => rm(place.root, { recursive: true })],
    ['agent_disabled', agentOf({ enabled: false })],
    ['unknown_agent', (place) => place.putRegistry(document({ another: usualAgent() }))],
  ])('answers failed with the reason %s and exits with 1', async (reason, arrange) => {
    const { code, body } = await planWithout(arrange);
    expect(body).toMatchObject({ outcome: 'failed', reason, faults: [{ code: reason }], files: [] });
    expect(code).toBe(1);
  });

  it.each<[reason: string, content: string | Uint8Array]>([
    ['too_large', 'x'.repeat(1_048_577)],
    ['invalid_utf8', new Uint8Array([0x63, 0x61, 0x66, 0xe9])],
    ['null_byte', 'a\0b'],
    ['executable_payload', 'MZ and more'],
    ['script_payload', '\n#!/bin/sh\n'],
    ['php_payload', 'a <?php b'],
    ['script_markup', 'a <ScRiPt b'],
    ['frame_markup', '<iframe src="x">'],
    ['object_markup', '<object>'],
    ['embed_markup', '<embed>'],
    ['script_uri', '[x](java&Tab;script&colon;alert)'],
    ['hidden_characters', `read${String.fromCodePoint(0xe0068, 0xe0069)}`],
    ['bidi_override', 'a\u202eb'],
    [
      'secret_found',
      ['-----BEGIN RSA', 'PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\n-----END RSA', 'PRIVATE KEY-----'].join(' '),
    ],
  ])('answers validation_failed with the reason %s and exits with 1', async (reason, content) => {
    const { code, body } = await planWithout(rulesOf(content));
    expect(body).toMatchObject({
      outcome: 'validation_failed',
      reason,
      faults: [{ code: reason, relativePath: rules }],
      files: [],
    });
    expect(code).toBe(1);
  });

  it('skips an absent optional file without a word, and hints at what looks like a missing one', async () => {
    await using place = await makeCliPlace(null);
    await rm(join(place.root, rules));
    await place.put('Triage/RULES.md', 'x');
    const { body } = await place.json('plan', place.agentKey, '--no-db');
    expect(body).toMatchObject({
      reason: 'missing_required',
      faults: [{ relativePath: rules }],
      warnings: [{ code: 'name_differs_by_case' }],
    });
  });

  it('tells the warnings of the registry with those of the files', async () => {
    const { body } = await planWithout(async (place) => {
      await agentOf({ note: 'ours' })(place);
      await place.put(rules, '\ufeffx');
    });
    expect(body).toMatchObject({
      outcome: 'loaded',
      warnings: [{ code: 'unknown_key' }, { code: 'utf8_bom', relativePath: rules }],
    });
  });

  it('prints for a person every fault with its file, each in a line of its own', async () => {
    await using place = await makeCliPlace(null);
    await place.put(core, 'a <script b');
    await place.put(rules, 'javascript:x');
    const { code, out, err } = await place.run('plan', place.agentKey, '--no-db');
    expect({ code, err }).toEqual({ code: 1, err: '' });
    const [headline, ...faults] = out.trimEnd().split('\n');
    expect(headline).toContain('(production): a refresh would end as validation_failed (script_markup)');
    expect(faults).toEqual([
      expect.stringMatching(/^ {2}fault {4}script_markup \(Shared\/core\.md\): /),
      expect.stringMatching(/^ {2}fault {4}script_uri \(Triage\/rules\.md\): /),
    ]);
  });
});

describe('plan with the database', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database[Symbol.asyncDispose]());

  it('compares with what is stored, and changes nothing there', async () => {
    await using place = await makeCliPlace(database);
    const plan = () => place.json('plan', place.agentKey);
    expect(await plan()).toMatchObject({ code: 2, body: { knowledgeVersion: 'v1' } });
    expect(await place.json('packages')).toMatchObject({ body: { packages: [] } });

    await place.run('refresh', place.agentKey);
    const unchanged = await plan();
    expect(unchanged.code).toBe(0);
    expect(unchanged.body).toMatchObject({
      outcome: 'unchanged',
      reason: 'same_checksum',
      knowledgeVersion: 'v1',
      activates: false,
      files: [{ relativePath: core }, { relativePath: rules }],
    });

    await place.put(rules, '# Rules\nAsk twice.\n');
    expect(await plan()).toMatchObject({ code: 2, body: { knowledgeVersion: 'v2', activates: true } });
    await place.run('hold', place.agentKey, '--reason', 'review');
    expect(await plan()).toMatchObject({
      code: 2,
      body: { activates: false, message: 'v2 would be stored and would wait to be activated.' },
    });
    expect(await place.json('versions', place.agentKey)).toMatchObject({ body: { totalCount: 1 } });
  });

  it('says what is active where the source holds what waits', async () => {
    await using place = await makeCliPlace(database, { ACTIVATE: 'manual' });
    await place.run('refresh', place.agentKey);
    const headline = async () => (await place.run('plan', place.agentKey)).out.split('\n')[0];
    expect(await headline()).toMatch(
      /holds what v1 holds; nothing was changed\. No version is active; v1 waits\.$/,
    );
    await place.run('activate', place.agentKey, 'v1');
    expect(await headline()).toMatch(/holds what v1 holds; nothing was changed\.$/);
    await place.put(rules, '# Rules\nAsk twice.\n');
    await place.run('refresh', place.agentKey);
    expect(await headline()).toMatch(/holds what v2 holds; nothing was changed\. v1 is active; v2 waits\.$/);
  });

  it('foresees a hold, and tells of an optional file that is gone', async () => {
    await using place = await makeCliPlace(database);
    await place.put(notes, 'x'.repeat(9000));
    await place.run('refresh', place.agentKey);
    await rm(join(place.root, notes));
    const { body } = await place.json('plan', place.agentKey);
    expect(body).toMatchObject({
      outcome: 'loaded',
      activates: false,
      warnings: [{ code: 'optional_disappeared', relativePath: notes }],
    });
    expect(body['message']).toContain('the package held: Of ');
  });

  it('names the agent that may be meant, and the command that lists all', async () => {
    await using place = await makeCliPlace(database);
    await place.run('refresh', place.agentKey);
    const { code, out } = await place.run('plan', `${place.agentKey}x`);
    expect(code).toBe(1);
    expect(out).toMatch(/Did you mean triage_\d+\? "npx agent-knowledge packages" lists them all\./);
  });

  it('names --no-db where no database answers', async () => {
    await using place = await makeCliPlace(null, { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' });
    const { code, out, err } = await place.run('plan', place.agentKey, '--json');
    const words = `"npx agent-knowledge plan ${place.agentKey} --no-db" needs no database.`;
    expect(code).toBe(1);
    expect(err).toContain(words);
    expect(JSON.parse(out)).toMatchObject({
      error: { code: 'UNAVAILABLE', message: expect.stringContaining(words) as string },
    });
  });
});
