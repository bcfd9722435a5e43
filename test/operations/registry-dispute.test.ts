import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock, type Clock } from '../../daemon/clock.ts';
import { RegistryKeeper } from '../../daemon/registry-keeper.ts';
import { beatDaemon, leaveDaemon } from '../../src/operations/looker.ts';
import { readRegistryInForce } from '../../src/operations/accept-registry.ts';
import { readAuditLog } from '../../src/operations/read-audit-log.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { heartbeatOf } from '../support/fake-daemon.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { document } from '../support/registry-documents.ts';

let database: TestDatabase;
let clock: FakeClock;

beforeEach(async () => {
  database = await createTestDatabase();
  clock = new FakeClock();
});
afterEach(() => database[Symbol.asyncDispose]());

/** A daemon as far as its registry goes: its own file, its heartbeat, its keeper. */
function daemonOf(id: string, time: Clock = clock) {
  const context = database.context();
  const looker = { id, actorId: context.caller.actorId };
  let text: string | null = null;
  const keeper: RegistryKeeper = new RegistryKeeper({
    context,
    looker,
    clock: time,
    watchEnvironments: ['production'],
    read: async () => (text === null ? null : Buffer.from(text)),
    print: async () => String(text),
    announce: () => beatDaemon(context, heartbeatOf(looker, { registryOffered: keeper.offered })),
  });
  return {
    /** Puts this into the file and lets the daemon read it; answers what the daemon then takes to be in force. */
    async reads(next: string | null) {
      text = next;
      return time === clock ? clock.during(keeper.look()) : keeper.look();
    },
    keeper,
    leave: () => leaveDaemon(context, looker),
    /** As killed with -9: its last heartbeat stays and grows old. */
    grow: async (seconds: number) =>
      database.asSuperuser((client) =>
        client.query(
          'update agent_knowledge.daemon set beat_at = beat_at - make_interval(secs => $1) where id = $2',
          [seconds, id],
        ),
      ),
  };
}

const registry = (version: string) => JSON.stringify({ ...document(), registry_version: version });
const versionInForce = async () =>
  (await readRegistryInForce(database.context())).registry?.registryVersion ?? null;
const rejections = async () => {
  const { rows } = await readAuditLog(database.context(), { action: 'agent.registry_rejected', first: 50 });
  return rows.map((event) => JSON.parse(event.details) as { reason: string; registryChecksum: string });
};

describe('two live daemons', () => {
  test('with different registries alarm, once each offer, and neither switches', async () => {
    const [one, two] = [daemonOf('one'), daemonOf('two')];
    expect(await one.reads(registry('1'))).toMatchObject({ changed: true, disputedBy: [] });
    const found = await two.reads(registry('2'));
    expect(found).toMatchObject({ changed: false, faults: [], registry: { registryVersion: '1' } });
    expect(found.disputedBy.map((daemon) => daemon.id)).toEqual(['one']);
    // Each goes on looking, and the first one edits its file: still nobody switches.
    for (let turn = 0; turn < 3; turn += 1) {
      expect((await two.reads(registry('2'))).disputedBy).toHaveLength(1);
      expect((await one.reads(registry('1'))).disputedBy).toHaveLength(1);
    }
    expect((await one.reads(registry('3'))).registry?.registryVersion).toBe('1');
    expect(await versionInForce()).toBe('1');
    expect((await rejections()).map((details) => details.reason)).toEqual([
      'registry_disputed',
      'registry_disputed',
    ]);
  });

  test('with different registries do not refuse each other’s either: a broken file elsewhere changes nothing', async () => {
    const [one, two] = [daemonOf('one'), daemonOf('two')];
    await one.reads(registry('1'));
    for (const broken of ['{', null]) {
      expect((await two.reads(broken)).disputedBy).toHaveLength(1);
      expect((await readRegistryInForce(database.context())).faults).toEqual([]);
    }
  });

  test('that read the same file switch together, and refuse together', async () => {
    const [one, two] = [daemonOf('one', systemClock), daemonOf('two', systemClock)];
    await one.reads(registry('1'));
    await two.reads(registry('1'));
    const [first, second] = await Promise.all([one.reads(registry('2')), two.reads(registry('2'))]);
    expect([first.disputedBy, second.disputedBy]).toEqual([[], []]);
    expect([first.changed, second.changed].filter(Boolean)).toHaveLength(1);
    expect(await versionInForce()).toBe('2');
    const broken = await Promise.all([one.reads('{'), two.reads('{')]);
    for (const { faults } of broken) expect(faults[0]?.code).toBe('registry_bad_json');
    expect(await rejections()).toHaveLength(1);
  });

  test('agree again once both files hold the same, or the other is gone', async () => {
    const [one, two] = [daemonOf('one'), daemonOf('two')];
    await one.reads(registry('1'));
    await two.reads(registry('2'));
    expect(await one.reads(registry('2'))).toMatchObject({ changed: true, disputedBy: [] });
    expect(await two.reads(registry('2'))).toMatchObject({ disputedBy: [] });
    await two.reads(registry('3'));
    await one.leave();
    expect(await two.reads(registry('3'))).toMatchObject({ changed: true, disputedBy: [] });
  });

  test('dispute no longer when the other has been silent for 15 seconds', async () => {
    const [one, two] = [daemonOf('one'), daemonOf('two')];
    await one.reads(registry('1'));
    await one.grow(13);
    expect((await two.reads(registry('2'))).disputedBy).toHaveLength(1);
    await one.grow(3);
    expect(await two.reads(registry('2'))).toMatchObject({ changed: true, disputedBy: [] });
  });
});

test('one daemon alone switches at every edit: the control', async () => {
  const one = daemonOf('one');
  for (const version of ['1', '2', '3']) await one.reads(registry(version));
  expect(await versionInForce()).toBe('3');
});
