import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { failpoints } from '../../src/core/failpoint.ts';
import type { TestDatabase } from '../support/database.ts';
import { Deployment } from '../support/deployment.ts';
import { hasEnded, untilSaid } from '../support/processes.ts';
import { Matrix, ofActivate, ofRequest, type Action, type Failure } from '../support/failpoint-matrix.ts';
import { readWhole } from '../support/whole-state.ts';

const long = process.env['AGENT_KNOWLEDGE_TEST_LONG'] === '1';

/** Before, in and after the transaction, in the daemon, its reader and the API, while its process lives or dies. */
const sample: readonly Failure[] = [
  ['refresh', 'middle of a file', 'kill'],
  ['refresh', 'after version', 'kill'],
  ['refresh', 'after commit', 'kill'],
  ['request', 'after commit', 'kill'],
  ['activate', 'after event', 'kill'],
  ['activate', 'after commit', 'kill'],
  ['refresh', 'after blobs', 'throw'],
  ['activate', 'after pointer', 'throw'],
  ['refresh', 'before commit', 'disconnect'],
  ['activate', 'before commit', 'disconnect'],
];

/** Every failpoint of a refresh, of asking for one and of an activation, with this action. */
function everyPoint(action: Action): readonly Failure[] {
  const all = { refresh: failpoints, request: ofRequest, activate: ofActivate };
  return Object.entries(all).flatMap(([what, points]) =>
    points.map((point) => [what as keyof typeof all, point, action] as const),
  );
}

describe('a process that fails at a failpoint', () => {
  test('leaves the state before or the state after, and what was asked of it is done once (G6, G8, F1, F2, F4, F5, F28)', async () => {
    await using matrix = await Matrix.open({ realTime: false });
    for (const failure of sample) await matrix.fail(failure);
    await matrix.meetRetryableFailures();
    // Control: with another key an effect that was there already is made again, which the same check finds.
    const lostAnswer = matrix.fail(['activate', 'after commit', 'disconnect'], { anotherKey: true });
    await expect(lostAnswer).rejects.toThrow('activate, disconnect at after commit');
    // Whatever has been done to it, what lives at the end is whole: it looks once more and ends in order.
    await matrix.endInOrder();
  }, 180_000);

  if (long)
    test.concurrent.each(['kill', 'stop', 'disconnect', 'throw'] as const)(
      'does so at every one of them and without help: %s',
      async (action) => {
        await using matrix = await Matrix.open({ realTime: true });
        for (const failure of everyPoint(action)) await matrix.fail(failure);
        await matrix.endInOrder();
      },
      1_800_000,
    );
});

describe('the machinery of these tests', () => {
  let deployment: Deployment;
  beforeAll(async () => {
    deployment = await Deployment.open(['alpha']);
  });
  afterAll(() => deployment[Symbol.asyncDispose]());

  test('control: the product itself reads no failpoint: not from the environment, not from a file', async () => {
    // Without the preload: everything else is as in a test build.
    const daemon = await deployment.startDaemon({ NODE_OPTIONS: '' });
    daemon.failpoints.plant('after ticket', 'kill');
    await deployment.save('alpha', 'second');
    await untilSaid(daemon.command, /alpha \(production\): v2/);
    expect([daemon.failpoints.isPlanted, hasEnded(daemon.command)]).toEqual([true, false]);
    expect(daemon.command.stderr()).toContain('AGENT_KNOWLEDGE_FAILPOINT_FILE (unknown) has no effect');
    expect(await daemon.command.end()).toBe(0);
  }, 60_000);

  test('control: the check of the state finds every way of being in between', async () => {
    const { database } = deployment;
    expect((await readWhole(database)).get('alpha')).toMatchObject({ numbers: [1, 2], active: 2 });
    await database.asSuperuser((client) =>
      client.query(`alter table agent_knowledge.blob drop constraint "a blob is keyed by its own SHA-256"`),
    );
    for (const [table, broken, mended] of inBetween) {
      await plantFault(database, table, broken);
      await expect(readWhole(database), broken).rejects.toThrow();
      await plantFault(database, table, mended);
      await readWhole(database);
    }
  });
});

/** A table, what breaks it, and what mends it again. */
const inBetween: readonly (readonly [table: string, broken: string, mended: string])[] = [
  ['package', 'next_number = next_number + 1', 'next_number = next_number - 1'],
  ['package', 'generation = generation + 1', 'generation = generation - 1'],
  ['package', 'active_number = 7', 'active_number = 2'],
  ['package_version', 'number = number + 10', 'number = number - 10'],
  ['version_file', `relative_path = relative_path || '!'`, `relative_path = left(relative_path, -1)`],
  ['blob', `content = content || 'x'`, 'content = substr(content, 1, length(content) - 1)'],
  ['knowledge_event', 'epoch = epoch + 1', 'epoch = epoch - 1'],
  ['knowledge_event', 'sequence = sequence + 1000', 'sequence = sequence - 1000'],
];

/** Writes past every rule of the database, as only a superuser can. */
async function plantFault(database: TestDatabase, table: string, change: string): Promise<void> {
  await database.asSuperuser(async (client) => {
    await client.query(`alter table agent_knowledge.${table} disable trigger all`);
    await client.query(`update agent_knowledge.${table} set ${change}`);
    await client.query(`alter table agent_knowledge.${table} enable trigger all`);
  });
}
