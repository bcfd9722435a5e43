import { sha256 } from '../../src/core/checksum.ts';
import { roles } from '../../src/store/roles.ts';
import { at, event, file, point, takeNumber, version, type PlantedFacts } from './planted-facts.ts';

/** One way to break a promise, the SQLSTATE that refuses it, and its SQL. */
export type Attempt = readonly [what: string, state: string, statements: (f: PlantedFacts) => string];

/** What no role may bring about, since every rule is checked for whoever writes. */
export const againstTheRules: readonly Attempt[] = [
  ['a late file into an old version', '23000', (f) => file(f, { load_order: 2, relative_path: `'late.md'` })],
  [
    'a late file in the transaction of its version, when the deferred checks are used up',
    '23000',
    (f) =>
      `${takeNumber(f)} ${version(f)} ${file(f)} set constraints all immediate;
       ${file(f, { load_order: 2, relative_path: `'late.md'` })}`,
  ],
  ['a number that the counter has not given out', '23000', (f) => version(f) + file(f)],
  ['a number given out and not used', '23000', (f) => takeNumber(f)],
  [
    'a skipped number',
    '23000',
    (f) => `${takeNumber(f)} ${takeNumber(f)} ${version(f, { number: 4 })} ${file(f)}`,
  ],
  ['a number twice (K-065)', '23505', (f) => `${version(f, { number: 2 })} ${file(f)}`],
  [
    'a version of another package under its number',
    '23505',
    (f) => version(f, { agent_key: `'${f.other}'` }),
  ],
  [
    'a version whose checksum its files do not give',
    '23000',
    (f) => `${takeNumber(f)} ${version(f, { checksum: `'${f.blob}'` })} ${file(f)}`,
  ],
  ['a version without files', '23000', (f) => `${takeNumber(f)} ${version(f)}`],
  [
    'a version without files that says so',
    '23000',
    (f) =>
      `${takeNumber(f)} ${version(f, { checksum: `'${sha256('')}'`, file_count: 0, total_size_bytes: 0 })}`,
  ],
  [
    'a version whose total size is wrong',
    '23000',
    (f) => `${takeNumber(f)} ${version(f, { total_size_bytes: 4 })} ${file(f)}`,
  ],
  [
    'a file whose size is not its content’s',
    '23000',
    (f) => `${takeNumber(f)} ${version(f, { total_size_bytes: 4 })} ${file(f, { size_bytes: 4 })}`,
  ],
  [
    'a version that came from nowhere',
    '23514',
    (f) => `${takeNumber(f)} ${version(f, { ticket: 'null' })} ${file(f)}`,
  ],
  [
    'a path with a line feed, which would make the checksum text ambiguous',
    '23514',
    (f) => `${takeNumber(f)} ${version(f)} ${file(f, { relative_path: `E'a\\nb'` })}`,
  ],
  ['the counter back', '23514', (f) => `update package set next_number = 1 ${at(f.mine)}`],
  ['the counter on by two', '23514', (f) => takeNumber(f, 2)],
  ['the last ticket back', '23514', (f) => `update package set last_ticket = 0 ${at(f.mine)}`],
  ['no active version after there was one', '23514', (f) => event(f) + point(f, 'null')],
  ['a pointer to nothing', '23503', (f) => event(f) + point(f, '99')],
  ['a pointer to a version of another package', '23503', (f) => event(f) + point(f, '3')],
  ['a pointer move without an event', '23000', (f) => point(f, '1')],
  [
    'a pointer move with another package’s event',
    '23000',
    (f) => event(f, undefined, f.other) + point(f, '1'),
  ],
  [
    'a pointer move with an event of another kind',
    '23000',
    (f) => event(f, 'agent.knowledge_held') + point(f, '1'),
  ],
  ['an event of an unknown kind', '23514', (f) => event(f, 'agent.knowledge_forgotten')],
  ['an event of nobody', 'P0002', (f) => event(f).replace(`values (${f.actor}`, 'values (999999')],
  [
    'a lying blob checksum',
    '23514',
    (f) => `insert into blob (checksum, content) values ('${f.blob.replace(/./g, 'a')}', 'two')`,
  ],
  ...[
    ['in a foreign alphabet', 'аgent'],
    ['in upper case', 'Agent'],
    ['with a line feed at its end', 'agent\n'],
    ['of 64 characters', 'a'.repeat(64)],
    ['that is empty', ''],
  ].map(([how, key]): Attempt => [
    `an agent key ${how} (T4)`,
    '23514',
    () => `insert into package (agent_key, environment, agent_code, stage, package_version, registry_version, enabled, listed)
             values ('${key}', 'production', 'A', 'test', 'v01', '1.0', true, true)`,
  ]),
  [
    'an environment in upper case',
    '23514',
    (
      f,
    ) => `insert into package (agent_key, environment, agent_code, stage, package_version, registry_version, enabled, listed)
            values ('${f.mine}', 'Production', 'A', 'test', 'v01', '1.0', true, true)`,
  ],
];

/** What the application's role has no right to, whatever the rules would say; and what takes long to try. */
export const withoutTheRight: readonly Attempt[] = [
  ...['package_version', 'version_file', 'blob', 'knowledge_event', 'registry_snapshot'].flatMap(
    (table): Attempt[] => [
      [
        `UPDATE of ${table}`,
        '42501',
        () =>
          `update ${table} set ${table === 'knowledge_event' ? 'details = details' : 'checksum = checksum'}`,
      ],
      [`DELETE from ${table}`, '42501', () => `delete from ${table}`],
      [`TRUNCATE of ${table}`, '42501', () => `truncate ${table}`],
      [`TRUNCATE of ${table} CASCADE`, '42501', () => `truncate ${table} cascade`],
    ],
  ),
  [
    'a blob of more than 16 MiB',
    '23514',
    () =>
      `insert into blob (checksum, content)
       select encode(sha256(content), 'hex'), content from (select convert_to(repeat('a', 16777217), 'UTF8') as content) big`,
  ],
  ['DELETE of a package', '42501', (f) => `delete from package ${at(f.mine)}`],
  ['another key for a package', '42501', (f) => `update package set agent_key = 'another' ${at(f.mine)}`],
  [
    'an upsert over content',
    '42501',
    (f) => `insert into blob (checksum, content) values ('${f.blob}', 'two')
            on conflict (checksum) do update set content = excluded.content`,
  ],
  [
    'a MERGE that deletes',
    '42501',
    (
      f,
    ) => `merge into blob using (values ('${f.blob}')) as wanted (checksum) on blob.checksum = wanted.checksum
            when matched then delete`,
  ],
  ['a forged generation', '42501', (f) => `update package set generation = 99 ${at(f.mine)}`],
  [
    'a new package with a generation',
    '42501',
    () => `insert into package (agent_key, environment, agent_code, stage, package_version, registry_version, enabled,
             listed, generation) values ('forged', 'production', 'A', 'test', 'v01', '1.0', true, true, 7)`,
  ],
  ...['epoch', 'sequence', 'at_micros', 'previous_hash', 'hash', 'actor_ref', 'transaction_id'].map(
    (column): Attempt => [
      `an event with a ${column} of its own`,
      '42501',
      (f) => `insert into knowledge_event (actor_id, action, details, ${column})
              values (${f.actor}, 'key.created', '{}', ${column.includes('hash') || column === 'actor_ref' ? `''` : `'7'`})`,
    ],
  ),
  ['the head of the log moved', '42501', () => 'update event_head set sequence = 0'],
  ...['id', 'loaded_at', 'transaction_id'].map((column): Attempt => [
    `a version with a ${column} of its own`,
    '42501',
    (f) => `${takeNumber(f)} ${version(f, { [column]: 'default' })} ${file(f)}`,
  ]),
  ['tickets set back', '42501', () => `select setval('look_ticket', 1)`],
  ['replica role, in which plain triggers sleep', '42501', () => 'set session_replication_role = replica'],
  ['DISABLE TRIGGER', '42501', () => 'alter table blob disable trigger blob_is_immutable'],
  ['DROP TRIGGER', '42501', () => 'drop trigger blob_is_immutable on blob'],
  ['DROP TABLE', '42501', () => 'drop table version_file'],
  [
    'another body for a rule',
    '42501',
    () => `create or replace function agent_knowledge.fact_is_immutable() returns trigger language plpgsql as
           'begin return new; end'`,
  ],
  [
    'a rule that swallows',
    '42501',
    () => 'create rule swallow as on insert to knowledge_event do instead nothing',
  ],
  ['a table in our schema', '42501', () => 'create table agent_knowledge.shadow (id integer)'],
  ['the owner’s role', '42501', () => `set role ${roles.owner}`],
  ['the superuser’s role', '42501', (f) => `set role ${f.superuser}`],
  ['the superuser’s session', '42501', (f) => `set session authorization ${f.superuser}`],
  ['a program run by the server (T48)', '42501', () => `copy blob to program 'cat'`],
  ['a file written by the server', '42501', () => `copy blob to '/tmp/blob'`],
  ['a file read by the server', '42501', () => `select pg_read_file('/etc/passwd')`],
  ['a folder listed by the server', '42501', () => `select pg_ls_dir('/')`],
  ['a large object from a file', '42501', () => `select lo_import('/etc/passwd')`],
  ['a key given another secret', '42501', () => `update api_key set secret_hash = ''`],
  ['a key removed', '42501', () => 'delete from api_key'],
  ['an actor turned into another', '42501', () => `update actor set kind = 'system'`],
  ['an actor removed', '42501', () => 'delete from actor'],
];

const immutable = /^Agent knowledge versions are immutable;/;
const appendOnly = /^Agent knowledge versions are append-only and cannot be deleted\.$/;

/** The statements that change a stored fact, with the contract's answer to each. */
export const againstFacts: readonly (readonly [
  what: string,
  says: RegExp,
  statements: (f: PlantedFacts) => string,
])[] = [
  [
    'the checksum of a version',
    immutable,
    (f) => `update package_version set checksum = '${f.spare}' where id = ${f.version}`,
  ],
  [
    'the number of a version',
    immutable,
    (f) => `update package_version set number = 7 where id = ${f.version}`,
  ],
  [
    'a version changed into itself',
    immutable,
    (f) => `update package_version set stage = stage where id = ${f.version}`,
  ],
  [
    'the path of a file',
    immutable,
    (f) => `update version_file set relative_path = 'b.md' where version_id = ${f.version}`,
  ],
  [
    'the content of a blob',
    immutable,
    (f) => `update blob set content = 'evil' where checksum = '${f.blob}'`,
  ],
  [
    'the details of an event',
    immutable,
    () => `update knowledge_event set details = '{}' where sequence = 2`,
  ],
  ['an accepted registry', immutable, () => `update registry_snapshot set registry_version = '9'`],
  [
    'an upsert over content',
    immutable,
    (f) => `insert into blob (checksum, content) values ('${f.blob}', 'two')
            on conflict (checksum) do update set content = 'evil'`,
  ],
  [
    'a MERGE that changes',
    immutable,
    (
      f,
    ) => `merge into blob using (values ('${f.blob}')) as wanted (checksum) on blob.checksum = wanted.checksum
            when matched then update set content = 'evil'`,
  ],
  ['a version', appendOnly, (f) => `delete from package_version where id = ${f.version}`],
  ['the files of a version', appendOnly, (f) => `delete from version_file where version_id = ${f.version}`],
  ['a blob', appendOnly, (f) => `delete from blob where checksum = '${f.blob}'`],
  [
    'the last event',
    appendOnly,
    () => 'delete from knowledge_event where sequence = (select max(sequence) from knowledge_event)',
  ],
  ['a registry', appendOnly, () => 'delete from registry_snapshot'],
  [
    'a MERGE that deletes',
    appendOnly,
    (
      f,
    ) => `merge into blob using (values ('${f.blob}')) as wanted (checksum) on blob.checksum = wanted.checksum
            when matched then delete`,
  ],
  ['all events at once', appendOnly, () => 'truncate knowledge_event'],
  ['all files at once', appendOnly, () => 'truncate version_file'],
  ['all versions and what refers to them', appendOnly, () => 'truncate package_version cascade'],
  ['all blobs and what refers to them', appendOnly, () => 'truncate blob cascade'],
  ['all registries and what refers to them', appendOnly, () => 'truncate registry_snapshot cascade'],
];
