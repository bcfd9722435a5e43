import { sql } from 'kysely';
import type { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sha256 } from '../../src/core/checksum.ts';
import { Database } from '../../src/store/database.ts';
import { roles } from '../../src/store/roles.ts';
import { attempt, openSession } from '../support/attempts.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { file, plant, point, takeNumber, type PlantedFacts } from '../support/planted-facts.ts';

/*
 * The controls of recipe R5, and what a start names as wrong (G3, G7, F33): a rule that is off lets its attempt
 * through, so the tests of immutability can fail, and it is noticed.
 */

let victim: TestDatabase;
let planted: PlantedFacts;
let superuser: Client;

beforeAll(async () => {
  victim = await createTestDatabase();
  planted = (await plant(victim)).facts;
  superuser = await openSession(victim.superuserUrl);
});
afterAll(async () => {
  await superuser.end();
  await victim[Symbol.asyncDispose]();
});

describe('a connection that could rewrite everything', () => {
  it.each([
    ['a superuser', 'set role none', 'the connection acts as a superuser: the append-only rules cannot hold'],
    [
      'the owner',
      `set role ${roles.owner}`,
      'the connection acts as the owner of package_version: the append-only rules cannot hold',
    ],
  ])('is named when it acts as %s (T48)', async (_, statement, fault) => {
    await using single = await Database.open({ url: victim.superuserUrl, maxConnections: 1 });
    expect(await single.faults()).toEqual([]);
    await single.read((queries) => sql.raw(statement).execute(queries));
    expect(await single.faults()).toContain(fault);
  });
});

describe('a rule that is switched off', () => {
  it.each([
    [
      'package_version',
      'package_version_is_immutable',
      (f: PlantedFacts) => `update package_version set stage = 'x' where id = ${f.version}`,
    ],
    [
      'blob',
      'blob_is_immutable',
      () =>
        `update blob set checksum = '${sha256('evil')}', content = 'evil' where checksum = '${sha256('unused')}'`,
    ],
    [
      'knowledge_event',
      'knowledge_event_is_append_only',
      () => 'delete from knowledge_event where sequence = 1',
    ],
    ['package', 'package_pointer_has_event', (f: PlantedFacts) => point(f, '1')],
    ['package', 'package_number_is_used', takeNumber],
    [
      'version_file',
      'files_are_whole',
      (f: PlantedFacts) => file(f, { version_id: f.version, load_order: 2, relative_path: `'late.md'` }),
    ],
  ])('an attempt on %s goes through without %s, which is named', async (table, trigger, statements) => {
    await superuser.query(
      `insert into blob (checksum, content) values ('${sha256('unused')}', 'unused') on conflict do nothing`,
    );
    expect(await attempt(superuser, statements(planted))).toMatchObject({ state: '23000' });
    await superuser.query(`alter table ${table} disable trigger ${trigger}`);
    expect(await attempt(superuser, statements(planted))).toBe('accepted');
    expect(await victim.database.faults()).toEqual([`trigger ${trigger} on ${table} is not enabled always`]);
    await superuser.query(`alter table ${table} enable trigger ${trigger}`);
    expect(await victim.database.faults()).toEqual([`trigger ${trigger} on ${table} is not enabled always`]);
    await superuser.query(`alter table ${table} enable always trigger ${trigger}`);
    expect(await victim.database.faults()).toEqual([]);
  });

  it('a rule that is missing is named', async () => {
    await superuser.query('drop trigger version_is_whole on package_version');
    expect(await victim.database.faults()).toEqual(['trigger version_is_whole is missing']);
  });

  it('a foreign key that is switched off is named', async () => {
    await superuser.query('alter table version_file disable trigger all');
    expect(await victim.database.faults()).toEqual(
      expect.arrayContaining([
        'constraint "version_file_checksum_fkey" on version_file is switched off',
        'trigger version_file_is_kept on version_file is not enabled always',
      ]),
    );
    await superuser.query('alter table version_file enable trigger all');
  });

  it('a setting that loses acknowledged writes is named (G7)', async () => {
    await superuser.query(`alter database ${victim.name} set synchronous_commit = off`);
    await using fresh = await Database.open({ url: victim.applicationUrl });
    expect(await fresh.faults()).toContain(
      'setting synchronous_commit is off: an acknowledged version could be lost',
    );
  });
});
