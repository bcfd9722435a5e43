import { execFile } from 'node:child_process';
import { link, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { SourceError } from '../../src/core/errors.ts';
import type { RelativePath } from '../../src/core/package.ts';
import { surveyFolder, usualSurveyLimits } from '../../src/source/folder-survey.ts';
import { findPlaceholders } from '../../src/source/placeholders.ts';
import { surveyRoot } from '../../src/source/root-survey.ts';
import { readWatchLimits } from '../../src/source/watch-limits.ts';
import { makeFolder } from '../support/source-folder.ts';

const limits = { ...usualSurveyLimits, maxFileBytes: 100 };

describe('a survey of a folder', () => {
  it('names the Markdown files that a registry could list, and why the others are left out', async () => {
    await using folder = await makeFolder({
      'root/A/good.md': 'x',
      'root/A/GOOD TOO.MARKDOWN': 'x',
      'root/A/inside.md': { link: 'good.md' },
      'root/A/good-DESKTOP-7AB12CD.md': 'x',
      'root/A/picture.png': 'x',
      'root/A/~$good.md': 'x',
      'root/A/good.md~': 'x',
      'root/A/.hidden.md': 'x',
      'root/A/.git/config.md': 'x',
      'root/A/a:b.md': 'x',
      'root/A/empty.md': '',
      'root/A/long.md': 'x'.repeat(101),
      'root/A/out.md': { link: '../../outside.md' },
      'root/A/gone.md': { link: 'nothing' },
      'root/A/loop': { link: '..' },
      'root/A/folder.md': { folder: true },
      'outside.md': 'x',
      'root/A/hard.md': 'x',
    });
    await link(join(folder.root, 'A/hard.md'), join(folder.path, 'other-name.md'));
    await promisify(execFile)('mkfifo', [join(folder.root, 'A/pipe.md')]);
    const { name, files, leftOut, notes } = surveyFolder(folder.root, limits);
    expect(name).toBe('root');
    expect(files.map((file) => file.relativePath)).toEqual([
      'A/GOOD TOO.MARKDOWN',
      'A/good.md',
      'A/inside.md',
    ]);
    expect(Object.fromEntries(leftOut.map(({ path, reason }) => [path, reason]))).toEqual({
      'A/good-DESKTOP-7AB12CD.md': 'looks like a conflict copy of good.md',
      'A/~$good.md': 'is a temporary file',
      'A/good.md~': 'is a temporary file',
      'A/.hidden.md': 'is hidden',
      'A/.git': 'is hidden',
      'A/a:b.md': expect.stringContaining('is a path that the registry refuses: it holds one of'),
      'A/empty.md': 'is empty',
      'A/long.md': 'has 101 bytes; at most 100 are accepted',
      'A/out.md': 'is a link that leads out of the folder',
      'A/gone.md': 'is a link that leads to nothing',
      'A/loop': 'is a link to a folder, which is not followed',
      'A/hard.md': 'has a second name (hard link), which may lie outside the folder',
      'A/pipe.md': 'is not a regular file',
    });
    expect(notes).toEqual(['1 file that is not Markdown (.md, .markdown) was passed over.']);
  });

  it('ends in words where the folder is too deep or too wide', async () => {
    const deep = Array.from({ length: 40 }, () => 'd').join('/');
    await using folder = await makeFolder({ [`root/${deep}/a.md`]: 'x', 'root/b.md': 'x', 'root/c.md': 'x' });
    const shallow = surveyFolder(folder.root, { ...limits, maxDepth: 3 });
    expect(shallow.leftOut).toEqual([{ path: 'd/d/d', reason: 'lies more than 3 folders deep' }]);
    const narrow = surveyFolder(folder.root, { ...limits, maxEntries: 5 });
    expect(narrow.notes).toEqual(['The folder holds more than 5 names; what lies beyond was not looked at.']);
    const silent = surveyFolder(folder.root, { ...limits, maxDepth: 1, maxLeftOut: 0 });
    expect(silent).toMatchObject({
      leftOut: [],
      notes: ['Left out for reasons like these: 1 more name.'],
    });
  });

  it('of what is no folder says what was found', async () => {
    await using folder = await makeFolder({ 'file.md': 'x' });
    expect(() => surveyFolder(join(folder.path, 'none'), limits)).toThrow(SourceError);
    expect(() => surveyFolder(join(folder.path, 'file.md'), limits)).toThrow(/is not a folder/);
  });
});

describe('what doctor asks the system', () => {
  it('tells a file whose bytes are not on the disk, where the system can tell (W26)', async () => {
    await using folder = await makeFolder({ 'root/here.md': 'x', 'root/cloud.md': '', 'root/empty.md': '' });
    // A hole takes no room, as a file that is only in the cloud.
    await truncate(join(folder.root, 'cloud.md'), 4096);
    const paths = ['here.md', 'cloud.md', 'empty.md', 'none.md', 'here.md/x'] as RelativePath[];
    expect(findPlaceholders(folder.root, paths, 'darwin')).toEqual(['cloud.md']);
    expect(findPlaceholders(folder.root, paths, 'linux')).toEqual([]);
  });

  it('tells a link from a folder', async () => {
    await using folder = await makeFolder({ 'root/a.md': 'x', link: { link: 'root' } });
    expect(await surveyRoot(folder.root)).toMatchObject({
      isLink: false,
      realPath: folder.root,
      mayPass: true,
    });
    expect(await surveyRoot(join(folder.path, 'link'))).toMatchObject({
      isLink: true,
      realPath: folder.root,
    });
  });

  it('tells the limits of inotify, and null where there are none', async () => {
    await using folder = await makeFolder({ max_user_watches: '8192\n', max_user_instances: '128\n' });
    expect(await readWatchLimits(folder.path)).toEqual({ maxWatches: 8192, maxInstances: 128 });
    expect(await readWatchLimits(join(folder.path, 'none'))).toBeNull();
  });
});
