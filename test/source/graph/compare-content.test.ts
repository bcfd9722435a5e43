import { describe, expect, it } from 'vitest';
import { noMemory, type ItemMemory } from '../../../src/core/item-memory.ts';
import { RecentContents } from '../../../src/source/graph/recent-contents.ts';
import { sha256 } from '../../../src/core/checksum.ts';
import { listed } from '../../support/source-folder.ts';
import type { TinyFile } from '../../support/tiny-drive.ts';
import { downloadsOf, told, withTinyDrive } from '../../support/tiny-source.ts';

const options = { withContent: true, maxFileBytes: 1000 };
const noHash = { file: { hashes: {} } };

/** Downloads of a second look, after a change of what the drive says, and of the content where one is given. */
async function secondDownloads(
  before: TinyFile['spoil'],
  after: TinyFile['spoil'],
  content = 'same',
): Promise<number> {
  let count = 0;
  await withTinyDrive(async (drive, source) => {
    const file = drive.put('a.md', 'same', before);
    await source.look(listed('a.md'), options);
    Object.assign(file, { spoil: after, content: Buffer.from(content) });
    expect(told(await source.look(listed('a.md'), options))).toEqual([content]);
    count = downloadsOf(drive) - 1;
  });
  return count;
}

describe('whether a file is downloaded again', () => {
  it('is decided by hash and size, whatever tags and times say (C1, C2, C13, bugs 21, 22)', async () => {
    const tags = { eTag: '"other"', cTag: '"other"', lastModifiedDateTime: '1999-01-01T00:00:00Z' };
    expect(await secondDownloads({}, tags)).toBe(0);
    expect(await secondDownloads({}, { eTag: undefined, cTag: undefined })).toBe(0);
    const steady = { eTag: '"e"', cTag: '"c"' };
    expect(await secondDownloads(steady, steady, 'else')).toBe(1);
  });

  it('is decided by the size too: a wrong one is looked into, and a mended one makes bytes verified (C2, bug 23)', async () => {
    expect(await secondDownloads({}, { size: 26 })).toBe(4);
    await withTinyDrive(async (drive, source) => {
      const file = drive.put('a.md', 'text', { size: 26 });
      const notices = async () => {
        const look = await source.look(listed('a.md'), options);
        return look.root === 'present' ? look.notices.map(({ code }) => code) : look.code;
      };
      expect(await notices()).toEqual(['unverified']);
      file.spoil = {};
      expect(await notices()).toEqual([]);
    });
  });

  it('is decided without a hash by tag, size and time together: one that differs is enough (C2, C3)', async () => {
    const one = { ...noHash, eTag: '"e"', cTag: '"c"', lastModifiedDateTime: '2026-01-01T00:00:00Z' };
    expect(await secondDownloads(one, one)).toBe(0);
    expect(await secondDownloads(one, { ...one, eTag: '"other"' })).toBe(0);
    expect(await secondDownloads(one, { ...one, cTag: '"other"' })).toBe(1);
    expect(await secondDownloads(one, { ...one, lastModifiedDateTime: '2026-01-01T00:00:01Z' })).toBe(1);
    expect(await secondDownloads(one, { ...one }, 'longer')).toBe(1);
    const noCTag = { ...one, cTag: undefined };
    expect(await secondDownloads(noCTag, noCTag)).toBe(0);
    expect(await secondDownloads(noCTag, { ...noCTag, eTag: '"other"' })).toBe(1);
    const noTag = { ...noCTag, eTag: undefined };
    expect(await secondDownloads(noTag, noTag)).toBe(1);
  });

  it('is decided anew when a hash appears or goes (C3)', async () => {
    const one = { ...noHash, eTag: '"e"', cTag: '"c"' };
    expect(await secondDownloads(one, { eTag: '"e"', cTag: '"c"' })).toBe(1);
    expect(await secondDownloads({ eTag: '"e"', cTag: '"c"' }, one)).toBe(1);
  });

  it('happens where a look without content is followed by one with it only if the bytes are nowhere here', () =>
    withTinyDrive(async (drive, source) => {
      drive.put('a.md', 'text');
      const first = await source.look(listed('a.md'), { ...options, withContent: false });
      expect(first).toMatchObject({ files: [{ state: 'present', sizeBytes: 4, content: null }] });
      expect(told(await source.look(listed('a.md'), options))).toEqual(['text']);
      expect(downloadsOf(drive)).toBe(1);
    }));

  it('trusts stored bytes by their SHA-256 only: others are downloaded (C3, C9)', async () => {
    const checksum = sha256(Buffer.from('text'));
    for (const [stored, expected] of [
      ['text', 0],
      ['evil', 1],
    ] as const) {
      const memory: ItemMemory = { ...noMemory, readContent: async () => Buffer.from(stored) };
      await withTinyDrive(
        async (drive, source) => {
          const file = drive.put('a.md', 'text');
          memory.recall = async () => {
            const { quickXorHash } = await import('../../../src/source/graph/quick-xor-hash.ts');
            const hash = quickXorHash(file.content);
            const tags = { eTag: null, cTag: null, sizeBytes: 4, quickXorHash: hash, modifiedAt: null };
            return [{ path: 'a.md', itemId: 'other', ...tags, checksum, unverified: false }];
          };
          expect(told(await source.look(listed('a.md'), options))).toEqual(['text']);
          expect(downloadsOf(drive)).toBe(expected);
        },
        { memory },
      );
    }
  });

  it('happens once for a file that several looks share, and by item: equal names in two folders are two files (bug 36)', () =>
    withTinyDrive(async (drive, source) => {
      drive.put('one/a.md', 'first');
      drive.put('two/a.md', 'second');
      const looks = [1, 2, 3].map(() => source.look(listed('one/a.md', 'two/a.md'), options));
      for (const look of await Promise.all(looks)) expect(told(look)).toEqual(['first', 'second']);
      expect(downloadsOf(drive)).toBe(2);
    }));
});

describe('contents kept in memory', () => {
  it('are given up from the one that was asked for longest ago, beyond a number of bytes', () => {
    const recent = new RecentContents(10);
    const [a, b, c] = ['aaaa', 'bbbb', 'cccc'].map((text) => Buffer.from(text)) as [Buffer, Buffer, Buffer];
    recent.put(sha256(a), a);
    recent.put(sha256(b), b);
    recent.get(sha256(a));
    recent.put(sha256(c), c);
    expect([a, b, c].map((content) => recent.get(sha256(content)))).toEqual([a, null, c]);
    // One put twice counts once.
    recent.put(sha256(c), c);
    expect(recent.get(sha256(a))).toEqual(a);
    const large = Buffer.alloc(11);
    recent.put(sha256(large), large);
    expect([a, c, large].map((content) => recent.get(sha256(content)))).toEqual([null, null, null]);
  });
});
