import { createHash } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { keepCursor, recallCursor } from '../../src/operations/drive-cursor.ts';
import {
  announceSubscription,
  claimCare,
  confirmSubscription,
  forgetAbandoned,
  planSubscription,
  readNotifiedUntil,
  type SubscriptionClaim,
} from '../../src/operations/keep-subscription.ts';
import type { CallContext } from '../../src/operations/context.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

let database: TestDatabase;
let context: CallContext;

beforeAll(async () => {
  database = await createTestDatabase();
  context = database.context();
});
beforeEach(() => run('delete from agent_knowledge.drive_subscription'));
afterAll(() => database[Symbol.asyncDispose]());

async function run(statement: string): Promise<Record<string, unknown>[]> {
  return database.asSuperuser(
    async (client) => (await client.query(statement)).rows as Record<string, unknown>[],
  );
}

const url = 'https://knowledge.example/hooks/graph';
const hour = 3_600_000;

function claimOf(keeper: string, change: Partial<SubscriptionClaim> = {}): SubscriptionClaim {
  const clientStateHash = createHash('sha256').update(keeper).digest('hex');
  return { driveId: 'b!one', keeper, seconds: 180, notificationUrl: url, clientStateHash, ...change };
}

async function confirm(claim: SubscriptionClaim, id: string, hours = 72): Promise<void> {
  await announceSubscription(context, claim);
  await confirmSubscription(context, claim, { id, expiresAt: new Date(Date.now() + hours * hour) });
}

describe('the care of a subscription', () => {
  it("is one daemon's of all, however many ask at once, until it has not been heard of for so long (W1)", async () => {
    const claims = Array.from({ length: 8 }, (_, at) => claimOf(`daemon-${at}`));
    const steps = await Promise.all(claims.map((claim) => claimCare(context, claim)));
    expect(steps.filter((step) => step.next === 'create')).toHaveLength(1);
    expect(steps.filter((step) => step.next === 'leave')).toHaveLength(7);
    const winner = claims[steps.findIndex((step) => step.next === 'create')] as SubscriptionClaim;
    const other = claims.find((claim) => claim !== winner) as SubscriptionClaim;
    expect(await claimCare(context, winner)).toMatchObject({ next: 'create' });
    await run("update agent_knowledge.drive_subscription set kept_until = now() - interval '1 second'");
    expect(await claimCare(context, other)).toMatchObject({ next: 'create' });
    expect(await claimCare(context, winner)).toEqual({ next: 'leave' });
    // It slept meanwhile, and what it has to say counts no more.
    expect(await announceSubscription(context, winner)).toBe(false);
    await confirmSubscription(context, winner, { id: 'late', expiresAt: new Date(Date.now() + hour) });
    expect(await readNotifiedUntil(context, 'b!one')).toBeNull();
  });

  it('knows the hash of the secret before the service hears of it, and never the secret (W2, T5)', async () => {
    const [first, second] = [claimOf('first'), claimOf('first', { clientStateHash: 'ab'.repeat(32) })];
    await claimCare(context, first);
    await confirm(first, 'sub-1');
    await claimCare(context, second);
    expect(await run('select client_state_hash from agent_knowledge.drive_subscription')).toEqual([
      { client_state_hash: first.clientStateHash },
    ]);
    expect(await announceSubscription(context, second)).toBe(true);
    expect(
      await run('select client_state_hash, subscription_id from agent_knowledge.drive_subscription'),
    ).toEqual([{ client_state_hash: second.clientStateHash, subscription_id: null }]);
  });

  it('lasts over a restart: what the last keeper made is gone on with, and renewed at half of its life', async () => {
    await claimCare(context, claimOf('before'));
    await confirm(claimOf('before'), 'sub-1');
    await run("update agent_knowledge.drive_subscription set kept_until = now() - interval '1 second'");
    expect(await claimCare(context, claimOf('after'))).toEqual({ next: 'wait' });
    const later = (hours: number) => database.context({ clock: () => new Date(Date.now() + hours * hour) });
    expect(await claimCare(later(35), claimOf('after'))).toEqual({ next: 'wait' });
    expect(await claimCare(later(37), claimOf('after'))).toEqual({ next: 'renew', id: 'sub-1' });
    expect(await claimCare(later(73), claimOf('after'))).toEqual({ next: 'create', ended: null });
    const moved = claimOf('after', { notificationUrl: 'https://elsewhere.example/hooks/graph' });
    expect(await claimCare(context, moved)).toEqual({ next: 'create', ended: 'sub-1' });
  });

  it('of another drive is given up when nobody has taken care of it for long', async () => {
    const [one, two] = [claimOf('a'), claimOf('b', { driveId: 'b!two' })];
    for (const claim of [one, two]) {
      await claimCare(context, claim);
      await confirm(claim, `sub of ${claim.driveId}`);
    }
    expect(await forgetAbandoned(context, two)).toEqual([]);
    await run("update agent_knowledge.drive_subscription set kept_until = now() - interval '10 minutes'");
    expect(await forgetAbandoned(context, two)).toEqual(['sub of b!one']);
    expect(await readNotifiedUntil(context, 'b!two')).not.toBeNull();
  });

  it('is planned from what is known alone', () => {
    const now = new Date('2026-01-01T00:00:00Z');
    const at = (hours: number) => new Date(now.getTime() + hours * hour);
    const row = { driveId: 'd', subscriptionId: 's', notificationUrl: url, expiresAt: at(2), renewAt: at(1) };
    expect(planSubscription(row, url, now)).toEqual({ next: 'wait' });
    expect(planSubscription({ ...row, renewAt: null }, url, now)).toEqual({ next: 'renew', id: 's' });
    expect(planSubscription({ ...row, renewAt: now }, url, now)).toEqual({ next: 'renew', id: 's' });
    expect(planSubscription({ ...row, expiresAt: null }, url, now)).toEqual({ next: 'create', ended: null });
    expect(planSubscription({ ...row, subscriptionId: null }, url, now)).toEqual({
      next: 'create',
      ended: null,
    });
    expect(planSubscription(row, `${url}2`, now)).toEqual({ next: 'create', ended: 's' });
  });
});

describe('the place from which changes are read', () => {
  it('is the last one that any daemon kept, and counts only for what it was made with (D18)', async () => {
    const key = { driveId: 'b!cursor', madeWith: '1 https://graph.example' };
    expect(await recallCursor(context, key)).toBeNull();
    await keepCursor(context, { ...key, link: "https://graph.example/v1.0/delta(token='a%2B')" });
    await keepCursor(context, { ...key, link: "https://graph.example/v1.0/delta(token='b%2B')" });
    expect(await recallCursor(context, key)).toBe("https://graph.example/v1.0/delta(token='b%2B')");
    expect(await recallCursor(context, { ...key, madeWith: '2 https://graph.example' })).toBeNull();
    expect(await recallCursor(context, { ...key, driveId: 'B!CURSOR' })).toBeNull();
  });
});
