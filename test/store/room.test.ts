import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isNoSpace, noSpace } from '../../src/core/no-space.ts';
import { asKnowledgeError } from '../../src/store/database-errors.ts';
import { readFreeSpace } from '../../src/store/free-space.ts';
import { findNoRoom, roomLimits, wantedBytes } from '../../src/store/room.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ak-room-'));
});
afterAll(() => rm(folder, { recursive: true }));

const nothing = { minFreeBytes: 0, minFreeShare: 0 };
const ask = (limits: typeof nothing) => findNoRoom([{ folder, name: 'the database' }], limits);

test('the limits are those of the settings sheet: 512 MB, and of a small disk 5 %', () => {
  expect(roomLimits).toEqual({ minFreeBytes: 536_870_912, minFreeShare: 0.05 });
  const gibibyte = 1_073_741_824;
  expect(wantedBytes(2000 * gibibyte)).toBe(536_870_912);
  expect(wantedBytes(gibibyte)).toBe(0.05 * gibibyte);
});

test('what is free is told in bytes, of a volume that has more of them', async () => {
  const { freeBytes, totalBytes } = await readFreeSpace(folder);
  expect(freeBytes).toBeGreaterThan(0);
  expect(totalBytes).toBeGreaterThanOrEqual(freeBytes);
  await expect(readFreeSpace(join(folder, 'nowhere'))).rejects.toMatchObject({ code: 'ENOENT' });
});

test('below the smaller limit there is no room, and the words say how much is free and where, without a path', async () => {
  const { totalBytes } = await readFreeSpace(folder);
  expect(await ask(nothing)).toBeNull();
  expect(await ask({ minFreeBytes: Infinity, minFreeShare: 0 })).toBeNull();
  for (const limits of [
    { minFreeBytes: 2 * totalBytes, minFreeShare: 3 },
    { minFreeBytes: Infinity, minFreeShare: 1.01 },
  ]) {
    const words = await ask(limits);
    expect(words).toMatch(/no space .* MiB of .* MiB are free on the disk of the database, and .* must be/);
    expect(words).not.toContain('/');
  }
});

test('a folder that does not tell is no reason to refuse', async () => {
  const places = [{ folder: join(folder, 'nowhere'), name: 'nothing' }];
  expect(await findNoRoom(places, { minFreeBytes: Infinity, minFreeShare: 1 })).toBeNull();
});

test('a full disk of the database is the same refusal, wherever in the causes it stands (F29)', () => {
  const full = Object.assign(new Error('could not extend file "base/1/2"'), { code: '53100' });
  const refusal = asKnowledgeError(new Error('insert failed', { cause: full }));
  expect(isNoSpace(refusal)).toBe(true);
  expect(refusal).toMatchObject({
    code: 'UNAVAILABLE',
    message: expect.stringContaining('no space left') as string,
    details: { retryAfterMs: 10_000 },
  });
  expect(isNoSpace(noSpace('full'))).toBe(true);
  expect(isNoSpace(asKnowledgeError(Object.assign(new Error(), { code: '53300' })))).toBe(false);
});
