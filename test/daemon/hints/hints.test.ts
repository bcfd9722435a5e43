import { appendFile, mkdir, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { patiently, untilReady, watcherScene } from '../../support/watcher-scene.ts';

describe('an event', () => {
  test('of a listed file that changed is a hint at that file alone, also when another file is renamed over it', async () => {
    await using scene = await watcherScene();
    await untilReady(scene);
    await appendFile(scene.file('a.md'), 'more\n');
    await patiently(() => scene.files.length > 0);
    await writeFile(scene.file('b.md.new'), 'whole\n');
    scene.files.length = 0;
    await rename(scene.file('b.md.new'), scene.file('b.md'));
    await patiently(() => scene.files.some(({ file }) => file === 'shared/b.md'));
    expect(scene.files).toContainEqual({
      folder: 'shared',
      file: 'shared/b.md',
      name: 'b.md',
      burst: false,
    });
  });

  test.each([
    ['a temporary name', (file: string) => writeFile(`${file}.tmp`, 'x')],
    ['a conflict copy', (file: string) => writeFile(file.replace('.md', '-LAPTOP.md'), 'x')],
    [
      'a name in other letters than the listed one (W19)',
      (file: string) => writeFile(file.replace('a.md', 'A.MD'), 'x'),
    ],
    ['the going of a listed file', (file: string) => unlink(file)],
  ])('of %s is a hint at its folder, as a part of something greater', async (_, act) => {
    await using scene = await watcherScene();
    await untilReady(scene);
    await act(scene.file('a.md'));
    await patiently(() => scene.files.length > 0);
    expect(scene.files.every(({ folder, burst }) => folder === 'shared' && burst)).toBe(true);
  });

  test('of the registry is a hint at the registry, and of its neighbours none', async () => {
    await using scene = await watcherScene();
    await untilReady(scene);
    await writeFile(join(scene.folder, 'config/other.json'), '{}');
    await writeFile(join(scene.folder, 'config/registry.json'), '{"changed": true}');
    await patiently(() => scene.registry.hints > 0);
    expect(scene.files).toEqual([]);
  });

  test('that the system could not name is a hint at everything (W10)', async () => {
    await using scene = await watcherScene();
    await untilReady(scene);
    scene.watchers[0]?.emit('raw', 'change', null, { watchedPath: scene.root });
    expect(scene.everything).toContain('the system told of a change without a name');
  });
});

describe('what is watched', () => {
  test('is the folder behind a link, for chokidar hears nothing of it by itself', async () => {
    await using holder = await watcherScene();
    await symlink(holder.root, join(holder.folder, 'link'));
    await using scene = await watcherScene({ root: join(holder.folder, 'link') });
    await untilReady(scene);
    await appendFile(holder.file('a.md'), 'more\n');
    await patiently(() => scene.files.some(({ file }) => file === 'shared/a.md'));
  });

  test('is no folder outside the root, whatever link leads there (W21)', async () => {
    await using outside = await watcherScene();
    await using scene = await watcherScene({ listed: ['linked/a.md', 'shared/b.md'] });
    await untilReady(scene);
    await symlink(join(outside.root, 'shared'), join(scene.root, 'linked'));
    scene.hints.rebuild('a link was made');
    await untilReady(scene, 2);
    scene.files.length = 0;
    await appendFile(outside.file('a.md'), 'more\n');
    await appendFile(scene.file('b.md'), 'more\n');
    await patiently(() => scene.files.length > 0);
    expect(scene.files.map(({ folder }) => folder)).not.toContain('linked');
  });

  test('is a folder that appears, goes, comes again or is exchanged, without a restart (W05, W06, W07)', async () => {
    await using scene = await watcherScene({ sweepMs: 50, listed: ['late/deep/a.md', 'shared/a.md'] });
    await untilReady(scene);
    const hear = async (path: string) => {
      // Until it is heard: the folder may not be watched yet when it is written to.
      await patiently(() => {
        void appendFile(path, 'more\n');
        return scene.files.some((hint) => hint.file !== null && path.endsWith(hint.file) && !hint.burst);
      });
      scene.files.length = 0;
    };
    await mkdir(join(scene.root, 'late/deep'), { recursive: true });
    await hear(join(scene.root, 'late/deep/a.md'));
    await rm(join(scene.root, 'late'), { recursive: true });
    await mkdir(join(scene.root, 'late/deep'), { recursive: true });
    await hear(join(scene.root, 'late/deep/a.md'));
    await mkdir(join(scene.root, 'shared.new'));
    await rename(join(scene.root, 'shared'), join(scene.root, 'shared.old'));
    await rename(join(scene.root, 'shared.new'), join(scene.root, 'shared'));
    await hear(join(scene.root, 'shared/a.md'));
  });
});

describe('everything is hinted at', () => {
  test('when the watcher is ready, and after each time it is built anew', async () => {
    await using scene = await watcherScene();
    await untilReady(scene);
    scene.everything.length = 0;
    scene.hints.rebuild('the root returned');
    await untilReady(scene);
    expect(scene.watchers).toHaveLength(2);
    expect(scene.watchers[0]?.closed).toBe(true);
  });
});
