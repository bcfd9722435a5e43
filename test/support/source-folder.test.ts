import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeFolder } from './source-folder.ts';

test('what a test makes up never leaves its folder, whatever links it has put there', async () => {
  await using outside = await makeFolder({ 'kept.md': 'kept' });
  await using folder = await makeFolder({
    'root/file.md': { link: join(outside.path, 'kept.md') },
    'root/away': { link: outside.path },
    'root/up': { link: '..' },
    'root/dangling': { link: '/nowhere/at/all' },
    'root/real/file.md': 'there',
    'root/inside': { link: 'real' },
  });
  for (const name of [
    'root/file.md',
    'root/away/new.md',
    'root/away/deep/new.md',
    'root/dangling/new.md',
    'root/dangling',
  ]) {
    await expect(folder.add(name, 'escaped')).rejects.toThrow();
  }
  await folder.add('root/up/up.md', 'inside');
  await folder.add('root/up/way', { link: '../..' });
  await expect(folder.add('root/up/way/new.md', 'escaped')).rejects.toThrow("leads out of the test's folder");
  expect(await readFile(join(outside.path, 'kept.md'), 'utf8')).toBe('kept');
  expect(await readdir(outside.path)).toEqual(['kept.md']);
  await folder.add('root/inside/file.md', 'replaced');
  expect(await readFile(join(folder.root, 'real/file.md'), 'utf8')).toBe('replaced');
});
