import { afterAll, beforeAll, expect, test } from 'vitest';
import { RegistryKeeper } from '../../daemon/registry-keeper.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { FakeClock } from '../support/fake-clock.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database[Symbol.asyncDispose]());

const file = { relative_path: 'a.md', load_order: 1, required: true };
const agent = { enabled: true, agent_code: 'A', stage: 's', package_version: 'v01', files: [file] };
const registry = (version: string) =>
  Buffer.from(JSON.stringify({ registry_version: version, agents: { a: agent } }));

function keeperOf(read: () => Buffer, clock: FakeClock) {
  let reads = 0;
  const context = database.context();
  const keeper = new RegistryKeeper({
    context,
    clock,
    looker: { id: 'keeper', actorId: context.caller.actorId },
    announce: async () => undefined,
    watchEnvironments: ['production'],
    read: async () => {
      reads += 1;
      return read();
    },
    print: async () => String(read()),
  });
  return { keeper, reads: () => reads };
}

test('a registry that is written all the time makes no queue of readings: whoever asks afterwards is answered soon', async () => {
  const clock = new FakeClock();
  let flips = 0;
  let text = () => registry(`flip ${(flips += 1)}`);
  const { keeper, reads } = keeperOf(() => text(), clock);
  const asked = Array.from({ length: 200 }, () => keeper.look());
  await clock.during(Promise.race(asked));
  text = () => registry('at rest');
  const before = reads();
  const now = await clock.during(keeper.look());
  expect(now.registry?.registryVersion).toBe('at rest');
  expect(reads() - before).toBeLessThan(10);
  await Promise.all(asked);
});

test('a registry counts when two readings a moment apart agree, so that a half-written one is never refused', async () => {
  const clock = new FakeClock();
  const texts = [registry('2').subarray(0, 20), registry('2').subarray(0, 30), registry('2')];
  const { keeper } = keeperOf(() => (texts.length > 1 ? texts.shift() : texts[0]) ?? registry('2'), clock);
  const found = await clock.during(keeper.look());
  expect(found).toMatchObject({ faults: [], registry: { registryVersion: '2' } });
});
