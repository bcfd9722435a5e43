import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sha256 } from '../../../src/core/checksum.ts';
import { noMemory, type RememberedItem } from '../../../src/core/item-memory.ts';
import { startFakeGraph, type FakeGraph } from '../../support/fake-graph/fake-graph.ts';
import type { Fault } from '../../support/fake-graph/faults.ts';
import { listed, makeFolder } from '../../support/source-folder.ts';
import { openTinySource, told, withTinyDrive, type TinySource } from '../../support/tiny-source.ts';

const options = { withContent: true, maxFileBytes: 1000 };
const files = listed('a.md', 'Folder/b.md');

type Stage = TinySource & {
  readonly fake: FakeGraph;
  readonly root: string;
  readonly remembered: RememberedItem[];
};

async function withFake(work: (stage: Stage) => Promise<void>): Promise<void> {
  await using folder = await makeFolder({ 'root/a.md': 'a1', 'root/Folder/b.md': 'b1' });
  await using fake = await startFakeGraph({ root: folder.root });
  const remembered: RememberedItem[] = [];
  const memory = {
    ...noMemory,
    remember: async (_driveId: string, items: readonly RememberedItem[]) => {
      remembered.push(...items);
      return new Set(items.map(({ path }) => path));
    },
  };
  const drive = { kind: 'id', driveId: fake.driveId } as const;
  await using tiny = openTinySource({ url: fake.url, token: fake.token, drive, memory });
  await work({ ...tiny, fake, root: folder.root, remembered });
}

const contentOf = { origin: 'content', path: 'b.md' } as const;

describe('a download that fails', () => {
  const lasting: readonly (readonly [string, Fault])[] = [
    ['an outage of the content host', { kind: 'status', status: 503, match: contentOf }],
    ['cut connections', { kind: 'reset', at: 'body', match: contentOf }],
    ['no content to be had at all', { kind: 'reset', at: 'start', match: contentOf }],
  ];
  it.each(lasting)('leaves the look without an answer: %s (bugs 2, 3, 38, C12)', (_name, fault) =>
    withFake(async ({ source, fake, root, remembered }) => {
      expect(told(await source.look(files, options))).toEqual(['a1', 'b1']);
      await writeFile(join(root, 'a.md'), 'a2');
      await writeFile(join(root, 'Folder/b.md'), 'b2');
      const mend = fake.fault(fault);
      remembered.length = 0;
      await expect(source.look(files, options)).rejects.toMatchObject({ next: 'wait' });
      expect(remembered.map(({ checksum }) => checksum)).not.toContain(sha256(Buffer.from('b2')));
      mend();
      expect(told(await source.look(files, options))).toEqual(['a2', 'b2']);
    }),
  );

  const passing: readonly (readonly [string, Fault])[] = [
    ['one 503', { kind: 'status', status: 503, match: contentOf, times: 1 }],
    ['a connection cut in the body', { kind: 'reset', at: 'body', match: contentOf, times: 2 }],
    ['an error page with 200', { kind: 'body', body: 'html', match: contentOf, times: 1 }],
    ['an error’s JSON with 200', { kind: 'body', body: 'error', match: contentOf, times: 1 }],
    ['a body too short', { kind: 'content', change: 'short', times: 1 }],
    ['other bytes of the same length', { kind: 'content', change: 'flip', times: 1 }],
    ['a body too long', { kind: 'content', change: 'longer', times: 1 }],
  ];
  it.each(passing)(
    'is made again until the bytes are what was said of them: %s (bug 4, C9, F65)',
    (_name, fault) =>
      withFake(async ({ source, fake }) => {
        fake.fault(fault);
        const look = await source.look(files, options);
        expect(told(look)).toEqual(['a1', 'b1']);
        expect(look).toMatchObject({ notices: [] });
      }),
  );

  it('is that file’s trouble alone where the service refuses the file (C14)', () =>
    withFake(async ({ source, fake }) => {
      for (const status of [403, 423]) {
        const mend = fake.fault({
          kind: 'status',
          status,
          code: 'malwareDetected',
          match: { step: false, path: 'b.md' },
        });
        const look = await source.look(files, options);
        expect(told(look)).toEqual(['a1', 'unreadable']);
        expect(JSON.stringify(look)).toContain(`status ${status}, code malwareDetected`);
        mend();
      }
    }));

  it('ends at one byte more than may be, however much comes (F68, C11)', () =>
    withFake(async ({ source, fake }) => {
      fake.fault({ kind: 'endless', match: { path: 'b.md' } });
      expect(told(await source.look(files, options))).toEqual(['a1', 'too_large']);
    }));

  it('sends nothing to another host than contents come from (F66, T27)', () =>
    withFake(async ({ source, fake }) => {
      fake.fault({ kind: 'redirect', to: 'http://127.0.0.1:9/x', match: { path: 'b.md' } });
      await expect(source.look(files, options)).rejects.toMatchObject({ next: 'wait' });
    }));
});

describe('a download address', () => {
  it('is asked for at the moment of each download, so that one that grew old does no harm (C4, C6, bug 26)', () =>
    withFake(async ({ source, fake }) => {
      fake.fault({ kind: 'at_content', call: () => fake.expireAddresses(), times: 1 });
      expect(told(await source.look(files, options))).toEqual(['a1', 'b1']);
      const asked = fake.requests.filter(
        ({ origin, path }) => origin === 'graph' && path.endsWith('/content'),
      );
      const fetched = fake.requests.filter(({ origin }) => origin === 'content');
      expect(asked.length).toBe(fetched.length);
      expect(fetched.every(({ hasAuthorization }) => !hasAuthorization)).toBe(true);
    }));

  it('is neither told nor remembered (bug 27)', () =>
    withFake(async ({ source, fake, remembered }) => {
      const look = await source.look(files, options);
      await source.look(files, options);
      const seen = [await source.knownItems(), await source.seeRoot()];
      // What is not remembered yet is when the source closes.
      await source[Symbol.asyncDispose]();
      expect(remembered).toHaveLength(2);
      const all = JSON.stringify([look, remembered, ...seen]);
      expect(all).toContain('a.md');
      for (const secret of ['tempauth', fake.contentUrl, fake.token]) expect(all).not.toContain(secret);
    }));
});

describe('what is said of an item', () => {
  it('need not name the drive as the settings do (A8, bug 32), nor say more than an id (D12)', () =>
    withFake(async ({ source, fake }) => {
      fake.fault({ kind: 'item', driveId: 'upper' });
      expect(told(await source.look(files, options))).toEqual(['a1', 'b1']);
      fake.clearFaults();
      const fields = { eTag: null, cTag: null, lastModifiedDateTime: null, parentReference: null };
      fake.fault({
        kind: 'item',
        fields: { ...fields, createdBy: null, webUrl: null, fileSystemInfo: null },
      });
      expect(told(await source.look(files, options))).toEqual(['a1', 'b1']);
    }));

  it('that changes between two readings of a package begins the look anew, also where only a tag moved (F65)', () =>
    withFake(async ({ source, fake, root }) => {
      const call = async () => rm(join(root, 'a.md'));
      fake.fault({ kind: 'at_content', call, times: 1, match: { path: 'b.md' } });
      expect(told(await source.look(files, options))).toEqual([['absent', 'deleted'], 'b1']);
    }));

  it('never loses a name that the service does not hold for one (A6): 400 is a refusal, not a deletion', () =>
    withTinyDrive(async (drive, source) => {
      drive.put('x.md', 'x');
      drive.refusals.set('what?.md', 400);
      expect(told(await source.look(listed('what?.md', 'x.md'), options))).toEqual(['unreadable', 'x']);
    }));
});
