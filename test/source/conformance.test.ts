import { mkdir, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseItem } from '../../src/source/graph/parse-item.ts';
import { encodePath } from '../../src/source/graph/item-path.ts';
import { quickXorHash } from '../../src/source/graph/quick-xor-hash.ts';
import { openLocalSource } from '../../src/source/local-source.ts';
import type { Source } from '../../src/source/source.ts';
import { compareWithDisk, situations, summarize, type Situation } from '../support/conformance.ts';
import { startFakeGraph, type FakeGraph } from '../support/fake-graph/fake-graph.ts';
import { listed, makeFolder, type TemporaryFolder } from '../support/source-folder.ts';
import { openTinySource } from '../support/tiny-source.ts';

const usual = { withContent: true, maxFileBytes: 1_048_576 };

/** A driver over a fresh folder that holds every situation in a folder of its own. */
interface Stage extends AsyncDisposable {
  readonly folder: TemporaryFolder;
  readonly source: Source;
  readonly fake: FakeGraph | null;
}

async function openStage(kind: 'local' | 'graph'): Promise<Stage> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await makeFolder({}));
  await mkdir(folder.root);
  for (const [index, { things }] of situations.entries()) {
    for (const [name, thing] of Object.entries(things)) await folder.add(`root/s${index}/${name}`, thing);
  }
  const fake = kind === 'local' ? null : stack.use(await startFakeGraph({ root: folder.root, pageSize: 3 }));
  const source = stack.use(fake === null ? openFolder(folder.root) : openDrive(fake));
  const opened = stack.move();
  return { folder, source, fake, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

function openFolder(root: string): Source {
  return openLocalSource({ root, limits: { readers: 1 } });
}

function openDrive({ url, token, driveId }: FakeGraph, rootPath = ''): Source {
  const tiny = openTinySource({ url, token, drive: { kind: 'id', driveId }, rootPath });
  const { source } = tiny;
  return {
    type: 'graph',
    looksAtOnce: source.looksAtOnce,
    look: (files, options) => source.look(files, options),
    [Symbol.asyncDispose]: () => tiny[Symbol.asyncDispose](),
  };
}

async function answerOf({ folder, source }: Stage, situation: Situation, index: number): Promise<string[]> {
  const files = listed(...situation.files.map((file) => `s${index}/${file}`));
  const options = { ...usual, ...situation.options };
  const first = await source.look(files, options);
  if (situation.after === undefined) return summarize(first);
  await situation.after(join(folder.root, `s${index}`));
  return summarize(await source.look(files, options));
}

describe.each(['local', 'graph'] as const)('a driver of the kind %s answers', (kind) => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await openStage(kind);
  });
  afterAll(() => stage[Symbol.asyncDispose]());

  it.each(situations.map((situation, index) => ({ ...situation, index })))('$says', async (situation) => {
    expect(await answerOf(stage, situation, situation.index)).toEqual(situation.expected);
  });

  it('nothing that is not on the disk', async () => {
    const all = situations.flatMap(({ files }, index) => files.map((file) => `s${index}/${file}`));
    expect(await compareWithDisk(stage.folder.root, await stage.source.look(listed(...all), usual))).toEqual(
      [],
    );
  });

  it('a look at no files with the root alone', async () => {
    expect(await stage.source.look([], usual)).toMatchObject({ root: 'present', files: [] });
  });

  it('a root with nothing in it as empty, and a root that is gone as missing', async () => {
    await using folder = await makeFolder({ 'root/deep': { folder: true } });
    const { fake } = stage;
    await mkdir(join(stage.folder.root, 'empty'));
    await using empty = fake === null ? openFolder(join(folder.root, 'deep')) : openDrive(fake, 'empty');
    expect(summarize(await empty.look(listed('a.md'), usual))).toEqual(['root root_empty']);
    await using gone = fake === null ? openFolder(join(folder.root, 'gone')) : openDrive(fake, 'gone');
    expect(summarize(await gone.look(listed('a.md'), usual))).toEqual(['root root_missing']);
  });
});

/** What the stand-in says of every file, as far as it differs from the disk. */
async function liesOf(fake: FakeGraph, root: string): Promise<string[]> {
  const lies: string[] = [];
  for (const path of await readdir(root, { recursive: true })) {
    const target = `${fake.url}/v1.0/drives/${fake.driveId}/root:/${encodePath(path)}`;
    const answer = await fetch(target, { headers: { authorization: `Bearer ${fake.token}` } });
    const item = parseItem(await answer.json());
    const isFolder = (await stat(join(root, path))).isDirectory();
    const name = path.slice(path.lastIndexOf('/') + 1);
    if (item.name !== name || item.kind !== (isFolder ? 'folder' : 'file'))
      lies.push(`${path}: name or kind`);
    if (isFolder) continue;
    const bytes = await readFile(join(root, path));
    if (item.sizeBytes !== bytes.length) lies.push(`${path}: size`);
    if (item.quickXorHash !== null && item.quickXorHash !== quickXorHash(bytes)) lies.push(`${path}: hash`);
    if (item.quickXorHash === null && bytes.length > 0) lies.push(`${path}: no hash`);
  }
  return lies;
}

describe('the stand-in for Microsoft Graph', () => {
  it('says of every file what the disk says: name, kind, size, and the hash as the product counts it', async () => {
    await using stage = await openStage('graph');
    if (stage.fake === null) throw new TypeError('A drive was opened.');
    expect(await liesOf(stage.fake, stage.folder.root)).toEqual([]);
    stage.fake.fault({ kind: 'item', hash: quickXorHash(Buffer.from('else')), match: { path: 'a#1.md' } });
    expect(await liesOf(stage.fake, stage.folder.root)).toEqual(['s1/a#1.md: hash']);
  });
});

describe('where drivers differ', () => {
  it('a name in the other Unicode form: a drive finds it (A7), a folder of this system names it', async () => {
    const things = { 'root/e\u0301.md': 'x' };
    const files = listed('\u00e9.md');
    await using folder = await makeFolder(things);
    await using fake = await startFakeGraph({ root: folder.root });
    await using drive = openDrive(fake);
    await using disk = openFolder(folder.root);
    expect(summarize(await drive.look(files, usual))).toEqual(['=x']);
    expect(summarize(await disk.look(files, usual))).toEqual(['absent name_differs_by_unicode_form']);
  });
});
