import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { resyncAll } from '../daemon/resync.ts';
import { openLocalSource } from '../src/source/local-source.ts';
import { compared, median, openScene, timed, type Bench, type Figure } from './harness.ts';
import { agentName, filePath, filesOfPackage, refreshWith, registerAgents, writeFiles } from './packages.ts';

const agents = 1000;

/** A full look, by hash, at 1,000 agents of 7 files where nothing has changed, against `sha256sum` of the same files. */
export const resync: Bench = {
  name: 'resync',
  async run(): Promise<readonly Figure[]> {
    await using scene = await openScene();
    const inForce = await registerAgents(scene, agents);
    const root = join(scene.folder, 'knowledge');
    await using source = openLocalSource({ root });
    const names = Array.from({ length: agents }, (_, index) => agentName(index));
    for (const name of names) {
      await writeFiles(root, name);
      const definition = inForce.registry?.agents.get(name);
      const look = await source.look(definition?.files ?? [], { withContent: true, maxFileBytes: 1_048_576 });
      await refreshWith(scene, inForce, name, look);
    }
    const pool = { hint: refuseHint, isBusy: () => false } as never;
    const options = {
      ...scene,
      source,
      registry: inForce.registry,
      watchEnvironments: ['production'],
      pool,
      isRootWell: () => true,
    };
    const ours: number[] = [];
    const peer: number[] = [];
    const paths = names.flatMap((name) =>
      Array.from({ length: filesOfPackage }, (_, index) => join(root, filePath(name, index))),
    );
    for (let round = 0; round < 5; round += 1) {
      ours.push(await timed(() => resyncAll(options)));
      peer.push(await timed(() => promisify(execFile)('sha256sum', paths, { maxBuffer: 1e8 })));
    }
    return [
      compared('full resync of 1,000 agents x 7 files', median(ours), 'ms', {
        name: 'sha256sum of the files',
        value: median(peer),
      }),
      { name: 'memory of the process after it', value: process.memoryUsage().rss / 1_048_576, unit: 'MiB' },
    ];
  },
};

function refuseHint(): never {
  throw new Error('Nothing had changed.');
}
