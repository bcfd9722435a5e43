import { chmod, chown, mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { prepareDataFolder } from '../../src/store/embedded-postgres/data-folder.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ak-data-folder-'));
  await writeFile(join(folder, 'postgres.json'), '{}');
  await mkdir(join(folder, 'postgres'));
  await chmod(folder, 0o755);
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const modeOf = async () => (await stat(folder)).mode & 0o777;

describe('a data folder that was there before the first start', () => {
  it('is narrowed where nobody else must get through', async () => {
    await prepareDataFolder(folder);
    expect(await modeOf()).toBe(0o700);
  });

  // Only root gives a cluster to somebody else.
  if (process.getuid?.() === 0)
    it("stays open where it is root's and the cluster in it another user's, whatever else lies there", async () => {
      await mkdir(join(folder, 'drive'));
      await chown(join(folder, 'postgres'), 65_534, 65_534);
      await prepareDataFolder(folder);
      expect(await modeOf()).toBe(0o755);
    });
});
