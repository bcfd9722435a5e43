import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Queries } from '../../src/store/database.ts';
import { countEvents, listEvents, readLastAction } from '../../src/store/knowledge-events.ts';
import { listChecksums, listVersions, readFiles, readVersions } from '../../src/store/package-versions.ts';
import { findPackage } from '../../src/store/packages.ts';
import { readSourceStatus } from '../../src/store/source-status.ts';
import { openSession } from '../support/attempts.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { openLooks } from '../support/looks.ts';
import { recordStatements } from '../support/statements.ts';

/*
 * What is asked often finds its rows by an index, however many there are. Asked with sequential scans forbidden: where
 * one is left in a plan, there is no index that could serve (a join between two collations, for one, uses none).
 */

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database[Symbol.asyncDispose]());

const name = { agentKey: 'agent', environment: 'production' };
const stale = { staleAfterMs: 120_000 };
const everybody = { agents: null, environments: null, general: true };
const page = { limit: 51, before: 1000 };

type Read = (queries: Queries) => Promise<unknown>;

const pageOfHistory: Read = (q) => listVersions(q, { ...name, before: 1000 }, { limit: 51, ...stale });

const reads: [what: string, read: Read][] = [
  ['a page of a history', pageOfHistory],
  ['a page of the audit log', (q) => listEvents(q, everybody, page)],
  ['the audit log of one package', (q) => listEvents(q, { ...everybody, ...name }, page)],
  ['the audit log of one agent', (q) => listEvents(q, { ...everybody, agentKey: 'agent' }, page)],
  ['the audit log of one action', (q) => listEvents(q, { ...everybody, action: 'key.created' }, page)],
  [
    'the audit log that a bound key sees',
    (q) => listEvents(q, { agents: ['a', 'b', 'c'], environments: ['dev'], general: false }, page),
  ],
  ['the number of events of a package', (q) => countEvents(q, { ...everybody, ...name }, 10_001)],
  ['the last event of a package', (q) => readLastAction(q, 'agent', 'production')],
  ['the active version', (q) => listVersions(q, { ...name, active: true }, stale)],
  [
    'exact versions',
    (q) =>
      readVersions(
        q,
        [1, 2, 3].map((number) => ({ ...name, number })),
        stale,
      ),
  ],
  [
    'the versions of a checksum',
    (q) => listVersions(q, { checksum: 'a'.repeat(64) }, { limit: 1000, ...stale }),
  ],
  ['manifests', (q) => readFiles(q, [1, 2, 3])],
  ['a package', (q) => findPackage(q, 'agent', 'production')],
  ['what a package holds', (q) => listChecksums(q, name)],
  ['the state of a source', (q) => readSourceStatus(q, [name], 120_000)],
];

async function planOf(read: Read): Promise<string> {
  using recording = recordStatements();
  await database.database.read(read);
  const statement = recording.statements.find((text) => /^\s*select/i.test(text))!;
  const session = await openSession(database.superuserUrl, {
    enable_seqscan: 'off',
    plan_cache_mode: 'force_generic_plan',
  });
  try {
    const { rows } = await session.query<{ 'QUERY PLAN': string }>(
      `explain (generic_plan, costs off) ${statement}`,
    );
    return rows.map((row) => row['QUERY PLAN']).join('\n');
  } finally {
    await session.end();
  }
}

/** Tables of a handful of rows, which no index would make faster. */
const small = /Seq Scan on (registry_state|actor_name|remark|daemon)\b/;

it.each(reads)('%s is found by indexes alone', async (_, read) => {
  const scans = (await planOf(read)).split('\n').filter((line) => line.includes('Seq Scan'));
  expect(scans.filter((line) => !small.test(line))).toEqual([]);
});

it('a page of a history costs a page, not the versions before it: it is read in order, without a sort', async () => {
  expect(await planOf(pageOfHistory)).not.toContain('Sort');
});

it('moving a pointer reads a handful of events, however many the package has', async () => {
  const agent = (await openLooks(database)).agent();
  for (const text of ['one', 'two']) await agent.refresh(text);
  const key = agent.name.agentKey;
  const session = await openSession(database.superuserUrl);
  await session.query('alter table knowledge_event disable trigger user');
  await session.query(
    `insert into knowledge_event (epoch, sequence, at_micros, actor_id, actor_ref, action, agent_key, environment, details,
       previous_hash, hash, transaction_id)
     select 1, 1000000 + i, i, 1, '', 'agent.knowledge_loaded', '${key}', 'production', '{}', '', '', '1'
     from generate_series(1, 20000) i`,
  );
  await session.query('alter table knowledge_event enable trigger user');
  await session.query('alter table knowledge_event enable always trigger event_append');
  await session.query('analyze knowledge_event');
  await session.query('begin');
  await session.query(
    `insert into knowledge_event (actor_id, action, agent_key, environment, details)
     values (1, 'agent.knowledge_rollback', '${key}', 'production', '{}')`,
  );
  await session.query(
    `update package set active_number = 1 where agent_key = '${key}' and environment = 'production'`,
  );
  await session.query('set constraints all immediate');
  const { rows } = await session.query<{ read: number }>(
    `select (seq_tup_read + idx_tup_fetch)::integer as read from pg_stat_xact_user_tables
     where relid = 'knowledge_event'::regclass`,
  );
  await session.end();
  expect(rows[0]!.read).toBeLessThan(10);
});

it('without an index would be a scan: the control', async () => {
  const plan = await planOf((queries) =>
    queries.selectFrom('knowledge_event').select('sequence').where('details', '=', '{}').execute(),
  );
  expect(plan).toContain('Seq Scan on knowledge_event');
});
