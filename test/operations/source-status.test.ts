import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PackageLook } from '../../src/core/look.ts';
import { acceptRegistry } from '../../src/operations/accept-registry.ts';
import { noteChanging, noteUnchanged } from '../../src/operations/looker.ts';
import { noteRoot } from '../../src/operations/report-root.ts';
import { Database } from '../../src/store/database.ts';
import { readSourceStatus } from '../../src/store/source-status.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { openLooks, type TestAgent, type TestLooks } from '../support/looks.ts';

let database: TestDatabase;
let looks: TestLooks;
beforeAll(async () => {
  database = await createTestDatabase();
  looks = await openLooks(database);
});
afterAll(() => database[Symbol.asyncDispose]());

async function statusOf({ name }: TestAgent, from: Database = database.database) {
  const [status] = await from.read((queries) => readSourceStatus(queries, [name], 60_000));
  if (!status) throw new Error('Every package of the registry has a status.');
  return status;
}

/** Long enough for the database's clock to show another millisecond. */
const aMoment = () => sleep(5);
const noRoot: PackageLook = { root: 'trouble', code: 'root_missing', message: 'The root is gone.' };

describe('what speaks against a package', () => {
  test('is nothing, since no time, where nobody has looked', async () => {
    expect(await statusOf(looks.agent())).toMatchObject({ state: 'unknown', faults: [], since: null });
  });

  test('is told whole with file and line, since the first look that found it, until a good one', async () => {
    const agent = looks.agent();
    const began = new Date();
    await agent.refresh({ 'core.md': 'Fine.\n<script>\n', 'extra-1.md': 'A\n\nB <?php\n' });
    const first = await statusOf(agent);
    expect(first).toMatchObject({
      state: 'failed',
      reason: 'script_markup',
      faults: [
        { code: 'script_markup', relativePath: 'core.md', line: 2 },
        { code: 'php_payload', relativePath: 'extra-1.md', line: 3 },
      ],
    });
    expect(first.since!.getTime()).toBeGreaterThan(began.getTime() - 60_000);

    // The same reason once more, with one fault less: still since then.
    await aMoment();
    await agent.refresh({ 'core.md': 'Fine.\n<script>\n' });
    const second = await statusOf(agent);
    expect(second).toMatchObject({ since: first.since, faults: [{ relativePath: 'core.md' }] });
    expect(second.faults).toHaveLength(1);
    expect(second.lastLookAt).not.toEqual(first.lastLookAt);

    await agent.refresh({ 'extra-1.md': 'No core.\n' });
    const other = await statusOf(agent);
    expect(other).toMatchObject({ reason: 'missing_required', faults: [{ relativePath: 'core.md' }] });
    expect(other.since).not.toEqual(first.since);

    await agent.refresh('Good.\n');
    const good = await statusOf(agent);
    expect(good).toMatchObject({ state: 'ok', reason: null, faults: [] });
    await aMoment();
    await agent.refresh('Better.\n');
    await noteUnchanged(database.context(), [agent.name]);
    expect(await statusOf(agent)).toMatchObject({ state: 'ok', since: good.since });
  });

  test('is cleared by a look that found everything unchanged, in one statement for many', async () => {
    const agent = looks.agent();
    await agent.refresh('Good.\n');
    await agent.refresh({});
    expect((await statusOf(agent)).faults).toHaveLength(1);
    await noteUnchanged(database.context(), [agent.name]);
    expect(await statusOf(agent)).toMatchObject({ state: 'ok', faults: [], reason: null });
  });

  test('is there for a process that has just started', async () => {
    const agent = looks.agent();
    await agent.refresh({});
    const seen = await statusOf(agent);
    await using other = await Database.open({ url: database.applicationUrl });
    expect(await statusOf(agent, other)).toEqual(seen);
  });

  test('is cut to what a person reads, and counted in the message', async () => {
    const agent = looks.agent();
    const files = [
      ...agent.definition.files,
      ...Array.from({ length: 60 }, (_, index) => ({
        ...agent.definition.files[0]!,
        relativePath: `gone-${index}.md` as never,
        loadOrder: 100 + index,
      })),
    ];
    await agent.refresh('Core.\n', { definition: { ...agent.definition, files } });
    const status = await statusOf(agent);
    expect(status.faults).toHaveLength(50);
    expect(status.message).toContain('(and 59 more)');
  });

  test('is nothing new while files keep changing or the root is only suspect, and the root when it is missing', async () => {
    const agent = looks.agent();
    const call = database.context();
    await agent.refresh({});
    const failed = await statusOf(agent);
    await aMoment();
    await noteChanging(call, agent.name);
    const changing = await statusOf(agent);
    expect(changing).toMatchObject({ state: 'changing', reason: null, faults: [] });
    expect(changing.since).not.toEqual(failed.since);

    await agent.refresh({});
    for (const state of ['suspect', 'missing', 'missing', 'returned'] as const)
      await noteRoot(call, ['production'], { state, message: `It is ${state}.` });
    const returned = await statusOf(agent);
    expect(returned).toMatchObject({ state: 'returned', message: 'It is returned.' });
    expect(returned.faults).toEqual([
      { code: 'root_missing', relativePath: null, line: null, message: 'It is missing.' },
    ]);
    await noteRoot(call, ['production'], { state: 'missing', message: 'Gone.' });
    const missing = await statusOf(agent);
    await aMoment();
    await noteRoot(call, ['production'], { state: 'missing', message: 'Gone.' });
    expect(await statusOf(agent)).toMatchObject({
      since: missing.since,
      reason: 'root_missing',
      faults: [{ code: 'root_missing', message: 'Gone.' }],
    });
    await agent.refresh('Good.\n');
    expect(await statusOf(agent)).toMatchObject({ state: 'ok', faults: [] });
    await agent.refresh('', { look: noRoot });
    expect(await statusOf(agent)).toMatchObject({ state: 'failed', faults: [{ code: 'root_missing' }] });
  });

  test('is what the registry is refused for, since that was noted, where the package itself is well', async () => {
    await using own = await createTestDatabase();
    const agent = (await openLooks(own)).agent();
    await agent.refresh('Good.\n');
    const before = await statusOf(agent, own.database);
    const offer = { looker: looks.looker, watchEnvironments: ['production'] };
    const call = own.context();
    await acceptRegistry(call, {
      ...offer,
      looker: { id: 'x', actorId: call.caller.actorId },
      bytes: Buffer.from('{"registry_version": 1, "agents": 2}'),
    });
    const refused = await statusOf(agent, own.database);
    expect(refused).toMatchObject({
      state: 'registry_rejected',
      message: expect.stringContaining('(and 1 more)'),
    });
    expect(refused.faults).toHaveLength(2);
    expect(refused.reason).toBe(refused.faults[0]?.code);
    expect(refused.since!.getTime()).toBeGreaterThanOrEqual(before.since!.getTime());
  });
});
