import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from 'kysely';
import { compared, median, openScene, timed, type Bench, type Figure, type Scene } from './harness.ts';
import { agentName, lookAtRevision, refreshWith, registerAgents } from './packages.ts';

const agents = 20;
const perAgent = 20;

/** How many refreshes a second can be published, against what the disk and one round trip cost at least. */
export const refreshes: Bench = {
  name: 'refreshes',
  async run(): Promise<readonly Figure[]> {
    await using scene = await openScene();
    const inForce = await registerAgents(scene, agents);
    const one: number[] = [];
    for (let revision = 0; revision < 60; revision += 1) {
      const look = lookAtRevision(agentName(0), revision);
      one.push(await timed(() => refreshWith(scene, inForce, agentName(0), look)));
    }
    const parallel = await timed(() =>
      Promise.all(
        Array.from({ length: agents - 1 }, async (_, index) => {
          const agent = agentName(index + 1);
          for (let revision = 0; revision < perAgent; revision += 1) {
            await refreshWith(scene, inForce, agent, lookAtRevision(agent, revision));
          }
        }),
      ),
    );
    const floor = (await roundTrip(scene)) + (await flush(scene));
    return [
      compared('one refresh, one changed file of seven', median(one), 'ms', {
        name: 'round trip + fdatasync',
        value: floor,
      }),
      {
        name: 'refreshes a second, 19 packages at once',
        value: ((agents - 1) * perAgent * 1000) / parallel,
        unit: '/s',
      },
    ];
  },
};

async function roundTrip(scene: Scene): Promise<number> {
  const times: number[] = [];
  for (let turn = 0; turn < 200; turn += 1) {
    times.push(await timed(() => scene.context.database.read((queries) => sql`select 1`.execute(queries))));
  }
  return median(times);
}

async function flush(scene: Scene): Promise<number> {
  await using file = await open(join(scene.folder, 'flush'), 'w');
  const block = Buffer.alloc(8192, 1);
  const times: number[] = [];
  for (let turn = 0; turn < 100; turn += 1) {
    times.push(
      await timed(async () => {
        await file.write(block, 0, block.length, 0);
        await file.datasync();
      }),
    );
  }
  return median(times);
}
