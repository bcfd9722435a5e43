import { expect, it } from 'vitest';
import { noMemory } from '../../src/core/item-memory.ts';
import { withPatience } from '../../src/operations/patient-source.ts';
import { openGraph } from '../../src/source/graph/graph-client.ts';
import { openGraphSource } from '../../src/source/graph/graph-source.ts';
import { startFakeGraph } from '../support/fake-graph/fake-graph.ts';
import { listed, makeFolder } from '../support/source-folder.ts';

it('a look at a drive that does not answer ends with the patience of who waits, and none follows it (T11)', async () => {
  await using folder = await makeFolder({ 'root/a.md': 'x' });
  await using fake = await startFakeGraph({ root: folder.root });
  await using graph = openGraph({
    cloud: 'global',
    baseUrl: fake.url,
    authority: null,
    downloadHosts: [],
    credentials: { kind: 'token', token: fake.token },
  });
  const place = { drive: { kind: 'id', driveId: fake.driveId }, rootPath: '' } as const;
  await using source = openGraphSource({ graph, place, memory: noMemory });
  const patient = withPatience(source, 300);
  const look = () => patient.look(listed('a.md'), { withContent: true, maxFileBytes: 100 });
  expect(await look()).toMatchObject({ files: [{ state: 'present' }] }); // CONTROL
  fake.fault({ kind: 'hang', at: 'start' });
  await expect(look()).rejects.toThrow('did not answer within 0.3 s');
  const asked = fake.requests.length;
  await expect(look()).rejects.toThrow('did not answer within 0.3 s');
  expect(fake.requests.length).toBe(asked);
});
