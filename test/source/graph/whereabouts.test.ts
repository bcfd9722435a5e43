import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { faultsMessage } from '../../../src/core/finding.ts';
import { startFakeGraph } from '../../support/fake-graph/fake-graph.ts';
import { listed, makeFolder } from '../../support/source-folder.ts';
import { openTinySource } from '../../support/tiny-source.ts';

const options = { withContent: true, maxFileBytes: 1000 };

describe('a listed file that is gone from a drive', () => {
  it.each<[string, (root: string) => Promise<void>, string, RegExp]>([
    ['renamed', (root) => rename(join(root, 'k/a.md'), join(root, 'k/b.md')), 'renamed', /named "b\.md" now/],
    [
      'moved',
      (root) => rename(join(root, 'k/a.md'), join(root, 'other/a.md')),
      'moved',
      /the folder "other"/,
    ],
    ['deleted', (root) => rm(join(root, 'k/a.md')), 'deleted', /recycle bin/],
  ])('is told as %s, by the id that it had (A1)', async (_, change, code, words) => {
    await using folder = await makeFolder({
      'root/k/a.md': 'text',
      'root/k/c.md': 'c',
      'root/other/d.md': 'd',
    });
    await using fake = await startFakeGraph({ root: folder.root });
    const drive = { kind: 'id', driveId: fake.driveId } as const;
    await using tiny = openTinySource({ url: fake.url, token: fake.token, drive });
    const look = () => tiny.source.look(listed('k/a.md', 'k/c.md'), options);
    await look();
    await change(folder.root);
    const { files = [] } = (await look()) as { files?: { state: string; hints?: never[] }[] };
    expect(files[0]).toMatchObject({ state: 'absent', hints: [{ code }] });
    const missing = {
      code: 'missing_required',
      relativePath: 'k/a.md',
      line: null,
      message: 'k/a.md is missing.',
    } as const;
    expect(faultsMessage([missing], files[0]?.hints ?? [])).toMatch(words);
  });

  it('is told as nothing more where it was never met: the control', async () => {
    await using folder = await makeFolder({ 'root/k/c.md': 'c' });
    await using fake = await startFakeGraph({ root: folder.root });
    const drive = { kind: 'id', driveId: fake.driveId } as const;
    await using tiny = openTinySource({ url: fake.url, token: fake.token, drive });
    const look = await tiny.source.look(listed('k/a.md', 'k/c.md'), options);
    expect(look).toMatchObject({ files: [{ state: 'absent', hints: [] }, { state: 'present' }] });
  });
});
