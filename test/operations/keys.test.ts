import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sha256 } from '../../src/core/checksum.ts';
import { authenticate } from '../../src/operations/authenticate.ts';
import type { CallContext } from '../../src/operations/context.ts';
import {
  createKey,
  ensureAdminKey,
  readKeys,
  withdrawKey,
  type KeyRequest,
} from '../../src/operations/manage-keys.ts';
import { readAuditLog } from '../../src/operations/read-audit-log.ts';
import { caller, createTestDatabase, type TestDatabase } from '../support/database.ts';

let database: TestDatabase;
let context: CallContext;
beforeAll(async () => {
  database = await createTestDatabase();
  context = database.context();
});
afterAll(() => database[Symbol.asyncDispose]());

let made = 0;

/** Makes a key with an id of its own; `bearer` is what its holder sends. */
async function make(change: Partial<KeyRequest> = {}) {
  made += 1;
  const material = { keyId: `k${made}`, secret: `CANARY-SECRET_${made}` };
  const request = {
    name: 'ci',
    scopes: ['knowledge:read'],
    agents: null,
    environments: null,
    expiresAt: null,
  };
  const key = await createKey(context, { ...request, ...change }, material);
  return { ...material, key, bearer: `ak_${material.keyId}_${material.secret}` };
}

const at = (time: string) => database.context({ clock: () => new Date(time) });
const keyOf = async (keyId: string) => (await readKeys(context)).find((key) => key.keyId === keyId);

describe('a key', () => {
  it('is shown once and lets its holder in with its scopes and bounds, and no more', async () => {
    const expiresAt = new Date('2100-01-01T00:00:00Z');
    const scopes = ['numu:full', 'knowledge:read'];
    const { key, keyId, bearer } = await make({ scopes, agents: ['anna'], environments: ['dev'], expiresAt });
    expect(key).toEqual({ keyId, key: bearer, scopes: ['knowledge:read', 'runs:write'] });
    expect(await authenticate(context, bearer)).toEqual({
      actorId: expect.any(Number) as number,
      kind: 'key',
      credential: { kind: 'key', id: keyId },
      scopes: new Set(['knowledge:read', 'runs:write']),
      agents: new Set(['anna']),
      environments: new Set(['dev']),
    });
    expect(await keyOf(keyId)).toMatchObject({ name: 'ci', revokedAt: null, expiresAt });
  });

  it('leaves no trace of its secret in the whole database but its hash (T1, T24)', async () => {
    const { bearer, secret } = await make();
    await authenticate(context, bearer);
    const dump = await dumpDatabase();
    expect(dump).toContain(sha256(secret));
    expect(dump).not.toContain('CANARY');
    expect(JSON.stringify(await readKeys(context))).not.toContain(sha256(secret));
  });

  it('is audited when it is made and when it is revoked, by whoever did it', async () => {
    const { keyId } = await make({ agents: ['anna'] });
    await withdrawKey(context, keyId);
    const [revoked, created] = (await readAuditLog(context, {})).rows;
    const actorRef = `local:${context.caller.actorId}`;
    expect(created).toMatchObject({ action: 'key.created', subject: keyId, actorRef, agentKey: null });
    expect(JSON.parse(created!.details)).toEqual({
      keyId,
      scopes: ['knowledge:read'],
      agents: ['anna'],
      environments: null,
    });
    expect(revoked).toMatchObject({ action: 'key.revoked', subject: keyId, actorRef });
    expect(JSON.parse(revoked!.details)).toEqual({ keyId });
  });

  it.each([[[]], [['everything']], [['knowledge:read', 'Admin']]])(
    'is not made with the scopes %j',
    async (scopes) => {
      const before = await readKeys(context);
      await expect(make({ scopes })).rejects.toMatchObject({ code: 'BAD_USER_INPUT' });
      expect(await readKeys(context)).toEqual(before);
    },
  );

  it('is made, listed and revoked by an admin only (T46)', async () => {
    const { keyId } = await make();
    const lesser = database.context({
      caller: caller(context.caller.actorId, [
        'knowledge:read',
        'runs:write',
        'ai.knowledge.refresh',
        'ai.knowledge.rollback',
      ]),
    });
    const request = { name: 'x', scopes: ['admin'], agents: null, environments: null, expiresAt: null };
    const forbidden = { code: 'FORBIDDEN' };
    await expect(createKey(lesser, request, { keyId: 'x', secret: 'x' })).rejects.toMatchObject(forbidden);
    await expect(readKeys(lesser)).rejects.toMatchObject(forbidden);
    await expect(withdrawKey(lesser, keyId)).rejects.toMatchObject(forbidden);
  });
});

describe('a credential that is not good', () => {
  it('is refused in the same words whatever is wrong with it (T29)', async () => {
    const expiring = await make({ expiresAt: new Date('2030-01-01T00:00:00Z') });
    const revoked = await make();
    await withdrawKey(context, revoked.keyId);
    const attempts = [
      '',
      'Bearer x',
      `ak_${expiring.keyId}_`,
      `${expiring.bearer} `,
      `${expiring.bearer}x`,
      `ak_nobody_${expiring.secret}`,
      `ak_${expiring.keyId}_${sha256(expiring.secret)}`,
      `ak_${expiring.keyId}_' or true --`,
      `ak_${expiring.keyId}_${'x'.repeat(100_000)}`,
      revoked.bearer,
    ].map((bearer) => authenticate(context, bearer));
    attempts.push(authenticate(at('2030-01-01T00:00:00Z'), expiring.bearer));
    const refusals = (await Promise.allSettled(attempts)).map((attempt) =>
      attempt.status === 'fulfilled' ? 'let in' : (attempt.reason as Error).message,
    );
    expect(new Set(refusals)).toEqual(
      new Set(['A valid key is needed: send it as "Authorization: Bearer <key>".']),
    );
    await authenticate(at('2029-12-31T23:59:59Z'), expiring.bearer);
  });

  it('is revoked at once and once', async () => {
    const { bearer, keyId } = await make();
    await authenticate(context, bearer);
    await withdrawKey(context, keyId);
    await expect(authenticate(context, bearer)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
    await expect(withdrawKey(context, keyId)).rejects.toMatchObject({ code: 'CONFLICT' });
    await expect(withdrawKey(context, 'nobody')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });
});

describe('the note of a key’s last use', () => {
  it('is made once a minute at most', async () => {
    const { bearer, keyId } = await make();
    const seen = [];
    for (const time of ['00:00.000', '01:00.000', '01:00.001']) {
      await authenticate(at(`2026-01-01T00:${time}Z`), bearer);
      seen.push((await keyOf(keyId))?.lastUsedAt?.toISOString());
    }
    expect(seen).toEqual(['00:00.000', '00:00.000', '01:00.001'].map((time) => `2026-01-01T00:${time}Z`));
  });

  it('keeps nobody out where it cannot be written, as on a full disk (F29)', async () => {
    const { bearer } = await make();
    const right = 'update (last_used_at, revoked_at) on agent_knowledge.api_key';
    await database.asSuperuser((client) => client.query(`revoke ${right} from agent_knowledge_app`));
    expect(await authenticate(context, bearer)).toMatchObject({ kind: 'key' });
    await database.asSuperuser((client) => client.query(`grant ${right} to agent_knowledge_app`));
  });
});

describe('the admin key', () => {
  it('is made when there is no live one, a lesser key notwithstanding', async () => {
    const { actorId } = context.caller;
    const ensure = (keyId: string, within = context) =>
      ensureAdminKey(within, actorId, { keyId, secret: 'CANARY-SECRET' });
    await make();
    expect(await ensure('first')).toMatchObject({ key: 'ak_first_CANARY-SECRET', scopes: ['admin'] });
    expect(await ensure('again')).toBeNull();
    await withdrawKey(context, 'first');
    const expiring = await make({ scopes: ['admin'], expiresAt: new Date('2030-01-01T00:00:00Z') });
    expect(await ensure('second', at('2029-01-01T00:00:00Z'))).toBeNull();
    expect(await ensure('second', at('2030-01-01T00:00:00Z'))).toMatchObject({ keyId: 'second' });
    expect((await readKeys(context)).slice(0, 2).map((key) => key.keyId)).toEqual(['second', expiring.keyId]);
  });
});

/** Every row of every table, as text. */
async function dumpDatabase(): Promise<string> {
  return database.asSuperuser(async (client) => {
    const tables = await client.query<{ name: string }>(
      `select format('%I.%I', schemaname, tablename) as name from pg_tables
       where schemaname in ('agent_knowledge', 'graphile_worker')`,
    );
    const dump = [];
    for (const { name } of tables.rows) dump.push((await client.query(`select t::text from ${name} t`)).rows);
    return JSON.stringify(dump);
  });
}
