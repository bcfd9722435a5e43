import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sha256 } from '../../src/core/checksum.ts';
import { noMemory, type RememberedItem } from '../../src/core/item-memory.ts';
import { openDriveMemory } from '../../src/operations/drive-memory.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { loadVersion } from '../support/knowledge.ts';
import { listed } from '../support/source-folder.ts';
import { startTinyDrive, type TinyDrive } from '../support/tiny-drive.ts';
import { downloadsOf, openTinySource, told } from '../support/tiny-source.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database[Symbol.asyncDispose]());

const options = { withContent: true, maxFileBytes: 1000 };

function itemOf(path: string, content: string, change: Partial<RememberedItem> = {}): RememberedItem {
  const checksum = sha256(Buffer.from(content));
  const tags = { eTag: '"e"', cTag: null, quickXorHash: 'AAAA', modifiedAt: '2026-01-31T10:00:00Z' };
  return { path, itemId: 'id', ...tags, sizeBytes: content.length, checksum, unverified: false, ...change };
}

/** Captures what a look at the drive brought, as a version of an agent. */
async function capture(drive: TinyDrive, agentKey: string, memory = openDriveMemory(database)) {
  const files = Object.fromEntries([...drive.files].map(([path, file]) => [path, file.content]));
  await using tiny = openTinySource({ url: drive.url, memory });
  const look = await tiny.source.look(listed(...Object.keys(files)), options);
  await loadVersion(database, { agentKey, files, look });
  await tiny.source.look([], options);
}

describe('what is remembered of a drive', () => {
  it('speaks only of contents that the store holds, and gives sizes as numbers (bug 3, A1)', async () => {
    const bytes = Buffer.from('\ufeffwith a mark\r\nand e\u0301\n\n');
    await loadVersion(database, { agentKey: 'held', files: { 'a.md': 'held text', 'b.md': bytes } });
    const memory = openDriveMemory(database);
    const held = itemOf('a.md', 'held text', { unverified: true, sizeBytes: 5_000_000_000 });
    const taken = await memory.remember('b!one', [held, itemOf('never.md', 'never stored')]);
    expect([...taken]).toEqual(['a.md']);
    expect(await memory.recall('b!one')).toEqual([held]);
    expect(await memory.recall('b!another')).toEqual([]);
    expect(await memory.readContent(sha256(bytes))).toEqual(bytes);
    expect(await memory.readContent(sha256(Buffer.from('never stored')))).toBeNull();
  });

  it('keeps the last state of each path, whatever the item of it was before (A10)', async () => {
    const memory = openDriveMemory(database);
    await loadVersion(database, { agentKey: 'twice', files: { 'a.md': 'first', 'b.md': 'second' } });
    await memory.remember('b!two', [itemOf('a.md', 'first', { itemId: 'old' })]);
    const next = itemOf('a.md', 'second', { itemId: 'new', eTag: null, quickXorHash: null });
    await memory.remember('b!two', [next]);
    expect(await memory.recall('b!two')).toEqual([next]);
  });

  it('lets a new process download nothing again (C2, bug 3): control without a memory', async () => {
    await using drive = await startTinyDrive();
    drive.put('a.md', 'text of a');
    drive.put('Folder/b ü.md', 'text of b');
    await capture(drive, 'restart');
    const files = listed('a.md', 'Folder/b ü.md');
    for (const memory of [openDriveMemory(database), noMemory]) {
      const before = downloadsOf(drive);
      await using tiny = openTinySource({ url: drive.url, memory });
      const checksums = await tiny.source.look(files, { ...options, withContent: false });
      expect(checksums).toMatchObject({ files: [{ state: 'present' }, { state: 'present' }] });
      expect(told(await tiny.source.look(files, options))).toEqual(['text of a', 'text of b']);
      expect(downloadsOf(drive) - before).toBe(memory === noMemory ? 2 : 0);
    }
  });

  it('says again after a restart that bytes are unverified, also where only checksums are asked for (C10, bug 24)', async () => {
    await using drive = await startTinyDrive();
    drive.put('odd.md', 'odd text', { size: 26 });
    await capture(drive, 'odd');
    const before = downloadsOf(drive);
    await using tiny = openTinySource({ url: drive.url, memory: openDriveMemory(database) });
    for (const withContent of [true, false]) {
      const look = await tiny.source.look(listed('odd.md'), { ...options, withContent });
      expect(look).toMatchObject({ files: [{ sizeBytes: 8 }], notices: [{ code: 'unverified' }] });
    }
    expect(downloadsOf(drive)).toBe(before);
  });

  it('holds nothing of a download that was never captured: the next process downloads it (bug 3)', async () => {
    await using drive = await startTinyDrive();
    drive.put('lost.md', 'never captured');
    for (const expected of [1, 2]) {
      await using tiny = openTinySource({ url: drive.url, memory: openDriveMemory(database) });
      for (let round = 0; round < 2; round += 1) await tiny.source.look(listed('lost.md'), options);
      expect(downloadsOf(drive)).toBe(expected);
    }
  });
});
