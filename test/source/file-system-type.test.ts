import { join } from 'node:path';
import { expect, test } from 'vitest';
import { nameFileSystem, readFileSystemType } from '../../src/source/file-system-type.ts';

const onLinux = process.platform === 'linux';

test.each([
  ['nfs', 0x6969],
  ['smb2', 0xfe534d42],
  ['cifs', 0xff534d42],
  ['cifs', 0xff534d42 | 0], // The same number with a sign, as some systems give it.
  ['fuse', 0x65735546],
  ['9p', 0x01021997],
  ['vboxsf', 0x786f4256],
])('%s (%i) is a file system whose changes may be made elsewhere (W15)', (name, type) => {
  expect(nameFileSystem(type)).toEqual({ name, network: true });
});

test.each([
  ['ext4', 0xef53],
  ['overlay', 0x794c7630],
  ['0x12345', 0x12345],
])('%s (%i) is one that can be watched', (name, type) => {
  expect(nameFileSystem(type)).toEqual({ name, network: false });
});

if (onLinux)
  test('the type is read of the file system that holds a path, mounted ones included', async () => {
    const found = await readFileSystemType('/proc');
    expect(found).toEqual({ name: '0x9fa0', network: false });
    expect(await readFileSystemType(import.meta.dirname)).not.toEqual(found);
  });

test('an absent path has the type of its nearest present ancestor', async () => {
  const there = await readFileSystemType('/proc');
  expect(await readFileSystemType(join('/proc', 'absent/deep'))).toEqual(there);
  expect(await readFileSystemType(join(import.meta.filename, 'below-a-file'))).toEqual(
    await readFileSystemType(import.meta.dirname),
  );
});
