import { writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { patiently, statesTold, untilReady, watcherScene } from '../../support/watcher-scene.ts';

const onNfs = async () => ({ name: 'nfs', network: true });
const onDisk = async () => ({ name: 'ext4', network: false });

test('on a network file system the sweep works alone, and says why (W15)', async () => {
  await using scene = await watcherScene({ watchMode: 'auto', readFileSystemType: onNfs, sweepMs: 20 });
  await patiently(() => scene.conditions.length > 0);
  expect(scene.hints.condition).toMatchObject({
    watcher: 'sweep',
    watcherMessage:
      'The folder is on a file system of the type nfs, where changes made elsewhere are not announced; they are found by the sweep.',
  });
  expect(scene.watchers).toEqual([]);
  await patiently(() => scene.everything.includes('the sweep sees a file for the first time'));
  await writeFile(scene.file('a.md'), 'found');
  await patiently(() => scene.files.some(({ file }) => file === 'shared/a.md'));
  expect(statesTold(scene.log)).toEqual(['info: there are no events']);
});

test.each([
  ['events are forced there when the settings say so', 'native', onNfs, 'native'],
  ['a local disk is watched', 'auto', onDisk, 'native'],
  [
    'a file system that does not say what it is is watched',
    'auto',
    () => Promise.reject(new Error('EACCES')),
    'native',
  ],
  ['no events are asked for when the settings say so', 'sweep', onDisk, 'sweep'],
] as const)('%s', async (_, watchMode, readFileSystemType, wanted) => {
  await using scene = await watcherScene({ watchMode, readFileSystemType });
  await patiently(() => scene.everything.includes('the watcher is ready') || scene.conditions.length > 0);
  expect(scene.hints.condition.watcher).toBe(wanted);
  expect(scene.watchers).toHaveLength(wanted === 'native' ? 1 : 0);
});

test('a root that comes back as another file system is judged anew', async () => {
  let type = { name: 'nfs', network: true };
  await using scene = await watcherScene({ watchMode: 'auto', readFileSystemType: async () => type });
  await patiently(() => scene.hints.condition.watcher === 'sweep');
  type = { name: 'ext4', network: false };
  scene.hints.rebuild('the root returned');
  await untilReady(scene);
  expect(scene.hints.condition).toMatchObject({ watcher: 'native', watcherMessage: null });
  type = { name: 'fuse', network: true };
  scene.hints.rebuild('the root returned');
  await patiently(() => scene.hints.condition.watcher === 'sweep');
  expect(scene.watchers.every((watcher) => watcher.closed)).toBe(true);
});
