import { describe, expect, it } from 'vitest';
import type { GraphPlace } from '../../../src/source/graph/graph-place.ts';
import {
  startFakeGraph,
  type FakeGraph,
  type FakeGraphOptions,
} from '../../support/fake-graph/fake-graph.ts';
import { listed, makeFolder, type Thing } from '../../support/source-folder.ts';
import { openTinySource, told, withTinyDrive, type TinySource } from '../../support/tiny-source.ts';

const options = { withContent: true, maxFileBytes: 1000 };
const things: Readonly<Record<string, Thing>> = {
  'root/a.md': 'top',
  'root/Team #1/Knowledge ü/a.md': 'inner',
};

type Stage = { readonly fake: FakeGraph } & TinySource;

/** Runs a test with a source of a drive that is named as `toDrive` says. */
async function withPlace(
  toDrive: (fake: FakeGraph) => GraphPlace['drive'],
  work: (stage: Stage) => Promise<void>,
  change: Omit<FakeGraphOptions, 'root'> & { readonly rootPath?: string } = {},
): Promise<void> {
  await using folder = await makeFolder(things);
  await using fake = await startFakeGraph({ root: folder.root, ...change });
  const { url, token } = fake;
  const { rootPath = '' } = change;
  await using tiny = openTinySource({ url, token, drive: toDrive(fake), rootPath });
  await work({ ...tiny, fake });
}

const bySite =
  (library: string | null) =>
  ({ siteUrl }: FakeGraph) =>
    ({ kind: 'site', siteUrl, library }) as const;
const byLink = ({ sharingLink: link }: FakeGraph) => ({ kind: 'sharing_link', link }) as const;

function timesAsked({ requests }: FakeGraph, part: string): number {
  return requests.filter(({ path }) => path.includes(part)).length;
}

describe('the drive that the settings mean', () => {
  it('is found by a site and the name of a library, or its default one, once (A9)', async () => {
    for (const library of ['Documents', 'documents', null]) {
      await withPlace(bySite(library), async ({ fake, source }) => {
        for (let round = 0; round < 2; round += 1)
          expect(told(await source.look(listed('a.md'), options))).toEqual(['top']);
        expect(await source.resolve()).toEqual({ driveId: fake.driveId, rootPath: '' });
        expect(timesAsked(fake, '/sites/')).toBe(2);
      });
    }
  });

  it('is a missing root where the site has no such library, by name, and no file counts as deleted (T9, bug 35)', () =>
    withPlace(bySite('Other'), async ({ source }) => {
      const look = await source.look(listed('a.md'), options);
      expect(look).toMatchObject({ root: 'trouble', code: 'root_missing' });
      expect('message' in look && look.message).toContain('has no library named Other');
    }));

  it('starts at the shared folder itself where nobody says what lies above it (A9, D12)', () =>
    withPlace(
      byLink,
      async ({ fake, source }) => {
        fake.fault({
          kind: 'item',
          match: { path: '/shares/' },
          fields: { parentReference: { driveId: fake.driveId } },
        });
        expect(told(await source.look(listed('a.md'), options))).toEqual(['inner']);
        expect(await source.resolve()).toMatchObject({ driveId: fake.driveId, anchorId: expect.any(String) });
      },
      { sharedPath: 'Team #1', rootPath: 'Knowledge ü' },
    ));

  it('is found by a sharing link, and paths start at the folder that is shared (A9)', () =>
    withPlace(
      byLink,
      async ({ fake, source }) => {
        expect(told(await source.look(listed('a.md'), options))).toEqual(['inner']);
        expect(await source.resolve()).toEqual({ driveId: fake.driveId, rootPath: 'Team #1/Knowledge ü' });
      },
      { sharedPath: 'Team #1', rootPath: 'Knowledge ü' },
    ));

  it('starts at the shared item itself where the folders above it may not be read', () =>
    withPlace(
      byLink,
      async ({ fake, source }) => {
        fake.fault({ kind: 'status', status: 403, match: { step: false, path: fake.tree.rootId } });
        const files = listed('a.md', 'gone.md');
        expect(told(await source.look(files, options))).toEqual(['inner', ['absent']]);
        expect(await source.resolve()).toMatchObject({
          rootPath: 'Knowledge ü',
          anchorId: expect.any(String),
        });
        expect(await source.seeRoot()).toMatchObject({ folder: 'there' });
        expect((await source.knownItems()).map(({ path }) => path)).toEqual(['.', 'a.md']);
        const before = fake.downloads.length;
        expect(told(await source.look(files, options))).toEqual(['inner', ['absent']]);
        expect(fake.downloads.length).toBe(before);
      },
      { sharedPath: 'Team #1', rootPath: 'Knowledge ü' },
    ));

  it('never tells the sharing link, which lets in whoever has it (bug 27)', () =>
    withPlace(byLink, async ({ fake, source }) => {
      fake.fault({ kind: 'status', status: 404, match: { path: '/shares/' } });
      const told = JSON.stringify([await source.look(listed('a.md'), options), await source.seeRoot()]);
      expect(told).toContain('status 404');
      expect(told).not.toContain(fake.sharingLink);
      expect(told).not.toContain(Buffer.from(fake.sharingLink).toString('base64url'));
    }));

  it('is found anew after its root answered 404', () =>
    withPlace(bySite(null), async ({ fake, source }) => {
      await source.look(listed('a.md'), options);
      const mend = fake.fault({ kind: 'status', status: 404, match: { path: '/root' } });
      expect(told(await source.look(listed('a.md'), options))).toBe('root_missing');
      mend();
      fake.forget();
      expect(told(await source.look(listed('a.md'), options))).toEqual(['top']);
      expect(timesAsked(fake, '/sites/')).toBe(2);
      fake.forget();
      await source.look(listed('a.md'), options);
      expect(timesAsked(fake, '/sites/')).toBe(0);
    }));

  it('is inert where no setting names one: the root is missing, with the settings’ names, and no request leaves (K-007)', () =>
    withTinyDrive(
      async (drive, source, { graph }) => {
        const look = await source.look(listed('a.md'), options);
        expect(look).toMatchObject({ root: 'trouble', code: 'root_missing' });
        const sight = await source.seeRoot();
        expect(sight).toMatchObject({ folder: 'absent', code: 'setup' });
        for (const message of ['message' in look && look.message, sight.message])
          expect(message).toContain('AGENT_KNOWLEDGE_GRAPH_DRIVE_ID');
        expect([drive.asked, graph.usage.requests]).toEqual([[], 0]);
      },
      { drive: null },
    ));

  it('is written to by nobody: every request of a look only reads (K-006)', () =>
    withPlace(bySite(null), async ({ fake, source }) => {
      await source.look(listed('a.md', 'gone.md'), options);
      await source.seeRoot();
      expect(fake.requests.length).toBeGreaterThan(4);
      expect(fake.writes).toEqual([]);
    }));
});
