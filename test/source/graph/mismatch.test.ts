import { describe, expect, it } from 'vitest';
import type { DriveItem } from '../../../src/source/graph/drive-item.ts';
import { settleMismatch, type Settled } from '../../../src/source/graph/mismatch.ts';

const item: DriveItem = {
  id: '1',
  name: 'a.md',
  parentId: null,
  kind: 'file',
  isRoot: false,
  deleted: false,
  eTag: '"1"',
  cTag: null,
  sizeBytes: 26,
  quickXorHash: null,
  modifiedAt: null,
};

interface Course {
  /** What each further download brings; the last one for ever. */
  readonly texts: readonly string[];
  /** Milliseconds that a download takes. */
  readonly downloadMs?: number;
  /** The item as each further reading has it. */
  readonly items?: readonly (DriveItem | null)[];
}

/** What becomes of bytes that are not as reported, after how many downloads and milliseconds. */
async function settle({ texts, downloadMs = 0, items = [item] }: Course) {
  let [clock, downloads, readings] = [0, 1, 0];
  const settled: Settled = await settleMismatch({
    item,
    first: Buffer.from('first'),
    download: async () => {
      clock += downloadMs;
      const text = texts[Math.min(downloads++, texts.length) - 1] ?? '';
      return { bytes: Buffer.from(text), whole: true };
    },
    readAgain: async () => items[Math.min(readings++, items.length - 1)] ?? null,
    habits: {
      now: () => clock,
      sleep: async (ms) => {
        clock += ms;
      },
    },
  });
  return { state: settled.state, downloads, clock };
}

describe('bytes that are not as a drive reports them (C10)', () => {
  it('are steady after four equal downloads over ten seconds, however slow each is, and not before', async () => {
    const quick = await settle({ texts: ['first'] });
    expect(quick).toMatchObject({ state: 'steady', downloads: 4 });
    expect(quick.clock).toBeGreaterThanOrEqual(10_000);
    expect(await settle({ texts: ['first'], downloadMs: 60_000 })).toMatchObject({
      state: 'steady',
      downloads: 4,
    });
  });

  it('are counted anew from a download that differs', async () => {
    const late = await settle({ texts: ['first', 'other'] });
    expect(late).toMatchObject({ state: 'steady', downloads: 6 });
    expect(late.clock).toBeGreaterThanOrEqual(14_000);
  });

  it('are verified when they are as reported at last, and changed when the item is another one or gone', async () => {
    expect(await settle({ texts: ['first', 'x'.repeat(26)] })).toMatchObject({ state: 'verified' });
    // With the same eTag another size is another lie, unless it is the truth at last (C10).
    expect(await settle({ texts: ['first'], items: [item, { ...item, sizeBytes: 5 }] })).toMatchObject({
      state: 'changed',
    });
    for (const other of [null, { ...item, eTag: '"2"' }, { ...item, id: '2' }])
      expect(await settle({ texts: ['first'], items: [item, other] })).toMatchObject({
        state: 'changed',
        downloads: 2,
      });
  });

  it('end after eight downloads that never agree (bug 24)', async () => {
    const texts = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
    expect(await settle({ texts })).toMatchObject({ state: 'unsteady', downloads: 8 });
  });
});
