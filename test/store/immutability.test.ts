import type { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readContents, readManifests, readVersion } from '../../src/operations/read-knowledge.ts';
import { roles } from '../../src/store/roles.ts';
import { attempt, openSession } from '../support/attempts.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { againstFacts, againstTheRules, withoutTheRight } from '../support/immutability-attempts.ts';
import type { TestAgent } from '../support/looks.ts';
import {
  at,
  event,
  file,
  plant,
  point,
  takeNumber,
  version,
  type PlantedFacts,
} from '../support/planted-facts.ts';

/*
 * Recipe R5: everything that would change what was stored, tried in SQL by whoever could try it (K-065, K-071…K-076,
 * T8, T18, T48, G1…G3, G14).
 */

let database: TestDatabase;
let mine: TestAgent;
let facts: PlantedFacts;
let application: Client;

beforeAll(async () => {
  database = await createTestDatabase();
  ({ mine, facts } = await plant(database));
  application = await openSession(database.applicationUrl, { role: roles.app });
});
afterAll(async () => {
  await application.end();
  await database[Symbol.asyncDispose]();
});

describe('the application’s role', () => {
  it.each([...withoutTheRight, ...againstTheRules])('is refused %s', async (_what, state, statements) => {
    expect(await attempt(application, statements(facts))).toMatchObject({ state });
  });

  it('reads the hashes of keys, which authentication needs, and nobody else does (T1)', async () => {
    const readKeys = 'select secret_hash from agent_knowledge.api_key';
    expect(await attempt(application, readKeys)).toBe('accepted');
    const login = await openSession(database.applicationUrl);
    expect(await attempt(login, readKeys)).toMatchObject({ state: '42501' });
    expect(await attempt(login, `set role ${roles.worker}; ${readKeys}`)).toMatchObject({ state: '42501' });
    await login.end();
    const superuser = await openSession(database.superuserUrl);
    expect(await attempt(superuser, `set role ${roles.auditor}; ${readKeys}`)).toMatchObject({
      state: '42501',
    });
    await superuser.end();
  });

  it('is told in the contract’s words that a version takes no more files (K-072)', async () => {
    const late = file(facts, { load_order: 2, relative_path: `'late.md'` });
    expect(await attempt(application, late)).toMatchObject({
      message: `Agent knowledge versions are immutable; ${facts.mine}/production v2 takes no more files.`,
    });
  });

  it('cannot give itself a right: the server only warns, and nothing changes', async () => {
    await attempt(application, `grant update, delete, truncate on package_version to ${roles.app}`);
    expect(await attempt(application, 'update package_version set stage = stage')).toMatchObject({
      state: '42501',
    });
  });

  it('may do what the product does, so that the refusals above are about the attempts', async () => {
    const good = `${takeNumber(facts)} ${version(facts)} ${file(facts)} set constraints all immediate; rollback`;
    expect(await attempt(application, good)).toBe('accepted');
    expect(await attempt(application, `${event(facts)} ${point(facts, '1')} rollback`)).toBe('accepted');
  });
});

/** Those who own the tables or own everything: they have every right, and the rules hold all the same. */
const mighty: readonly (readonly [who: string, settings: Record<string, string>])[] = [
  ['the owner of the tables', { role: roles.owner }],
  ['a superuser', {}],
  ['a superuser in replica role', { session_replication_role: 'replica' }],
];

describe.each(mighty)('%s', (_, settings) => {
  let session: Client;
  beforeAll(async () => {
    session = await openSession(database.superuserUrl, settings);
  });
  afterAll(() => session.end());

  it.each(againstFacts)(
    'is refused with the contract’s sentence: %s (K-072, K-073)',
    async (_, says, statements) => {
      expect(await attempt(session, statements(facts))).toMatchObject({
        state: '23000',
        message: expect.stringMatching(says) as string,
      });
    },
  );

  it.each(againstTheRules)('is refused %s', async (_, state, statements) => {
    expect(await attempt(session, statements(facts))).toMatchObject({ state });
  });

  it('cannot delete a package, whose numbers would start again (K-062)', async () => {
    for (const statement of [`delete from package ${at(facts.mine)}`, 'truncate package cascade']) {
      expect(await attempt(session, statement)).toMatchObject({ state: '23000' });
    }
  });

  it('cannot forge a generation: it is counted, whatever is written (G-14)', async () => {
    const before = await mine.row();
    expect(await attempt(session, `update package set generation = 99 ${at(facts.mine)}`)).toBe('accepted');
    expect((await mine.row()).generation).toBe(before.generation);
  });

  it('cannot forge an event’s place, time or hash: they are the database’s (T20)', async () => {
    const { rows } = await session.query<{ sequence: number; hash: string }>(
      'select sequence::integer, hash from event_head',
    );
    const head = rows[0]!;
    const before = Date.now() * 1000;
    const forged = `insert into knowledge_event (epoch, sequence, at_micros, actor_id, actor_ref, action, agent_key,
        environment, details, previous_hash, hash, transaction_id)
      values (9, 1, 0, ${facts.actor}, 'forged', 'agent.knowledge_held', '${facts.mine}', 'production', '{}', '', '', '1')`;
    expect(await attempt(session, forged)).toBe('accepted');
    const event = (await mine.events()).at(-1)!;
    expect(event).toMatchObject({
      epoch: 1,
      sequence: head.sequence + 1,
      actorRef: `daemon:${facts.actor}`,
      previousHash: head.hash,
    });
    expect(event.atMicros).toBeGreaterThanOrEqual(before);
    expect(event.hash).toMatch(/^[0-9a-f]{64}$/);
  });
});

describe('after all of it', () => {
  it('every version reads as it was stored, and nothing is wrong with the database (K-075, K-076)', async () => {
    const context = database.context();
    for (const [knowledgeVersion, text] of [
      ['v1', 'one'],
      ['v2', 'two'],
    ] as const) {
      const version = await readVersion(context, { ...mine.name, knowledgeVersion });
      const [manifest] = await readManifests(context, [version.id]);
      expect(manifest).toMatchObject({ relativePath: 'core.md', loadOrder: 1, required: true, sizeBytes: 3 });
      const contents = await readContents(context, [manifest!.checksum]);
      expect(Buffer.from(contents.get(manifest!.checksum)!).toString()).toBe(text);
    }
    expect(await mine.row()).toMatchObject({ nextNumber: 3, activeNumber: 2, generation: 2 });
    expect(await database.database.faults()).toEqual([]);
  });
});
