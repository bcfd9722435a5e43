import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { linkMadeWith, readChanges, type ChangesWanted } from '../../../src/source/graph/delta-feed.ts';
import type { Graph } from '../../../src/source/graph/graph.ts';
import {
  pageOf,
  refusalOf,
  startFeedServer,
  type FeedAnswer,
  type FeedServer,
} from '../../support/feed-server.ts';
import { openTestGraph } from '../../support/test-graph.ts';

let feed: FeedServer;
let graph: Graph;

beforeEach(async () => {
  feed = await startFeedServer(() => refusalOf(404, 'itemNotFound'));
  graph = openTestGraph(feed.url);
});
afterEach(async () => {
  await graph[Symbol.asyncDispose]();
  await feed[Symbol.asyncDispose]();
});

const base = '/v1.0/drives/b!drive/root/delta';
const latest = `${base}?token=latest`;
const link = (name: string) => `${feed.url}${base}?token=${name}`;

/** Answers by the text of the link's token; everything else is an error of the test. */
function script(pages: Readonly<Record<string, FeedAnswer | (() => FeedAnswer)>>): void {
  feed.answer = ({ target }) => {
    const page = pages[target.replace(/^.*token=/, '')];
    if (page === undefined) throw new Error(`Nobody expected ${target}.`);
    return typeof page === 'function' ? page() : page;
  };
}

function read(name: string | null, more: Partial<ChangesWanted> = {}) {
  return readChanges(graph, { driveId: 'b!drive', link: name === null ? null : link(name), ...more });
}

const targets = () => feed.requests.map((request) => decodeURIComponent(request.target));
const file = (id: string, name: string, more = {}) => ({
  id,
  name,
  parentReference: { id: 'p' },
  file: {},
  ...more,
});

describe('a feed without a link', () => {
  it('is begun at its end, in one request without any query option but the token (D2, D24)', async () => {
    script({ latest: pageOf([], { delta: link('one') }) });
    expect(await read(null)).toMatchObject({ kind: 'fresh', link: link('one') });
    expect(targets()).toEqual([latest]);
  });

  it('is begun all the same where the end comes after a page of its own', async () => {
    script({
      latest: pageOf([file('x', 'X')], { next: link('two') }),
      two: pageOf([], { delta: link('end') }),
    });
    expect(await read(null)).toMatchObject({ kind: 'fresh', link: link('end') });
  });
});

describe('a round', () => {
  it('goes on through empty pages to the link at the end, that of an empty page too (D1, D15, bugs 11, 42)', async () => {
    const told: [number, number][] = [];
    script({
      one: pageOf([file('a', 'A')], { next: link('two') }),
      two: pageOf([], { next: link('three') }),
      three: pageOf([file('b', 'B'), { odd: true }], { next: link('four') }),
      four: pageOf([], { delta: link('end') }),
    });
    const round = await read('one', { onPage: (pages, items) => told.push([pages, items]) });
    expect(round).toEqual({
      kind: 'changes',
      tooMany: false,
      link: link('end'),
      changes: [
        { id: 'a', name: 'A', parentId: 'p', kind: 'file', deleted: false },
        { id: 'b', name: 'B', parentId: 'p', kind: 'file', deleted: false },
      ],
    });
    expect(told).toEqual([
      [1, 1],
      [2, 1],
      [3, 3],
      [4, 3],
    ]);
  });

  it('says of each item what came last (D3, F64)', async () => {
    script({
      one: pageOf([file('a', 'Old'), file('a', 'Older')], { next: link('two') }),
      two: pageOf([{ id: 'a', deleted: { state: 'deleted' } }], { delta: link('end') }),
    });
    const round = await read('one');
    expect(round).toMatchObject({ changes: [{ id: 'a', name: null, deleted: true }] });
  });

  it('reads deletions by their id, in either spelling, and counts what says nothing (D7, D9, D12, D26, bugs 7, 19, 43)', async () => {
    const tombstone = {
      id: 't',
      size: 0,
      folder: {},
      deleted: { state: 'deleted' },
      parentReference: { id: 'p' },
    };
    const odd = [null, 7, 'x', [], {}, { name: 'nobody' }, { id: '' }, { id: 7 }];
    const root = { id: 'r', name: 'root', root: {}, folder: { childCount: 0 } };
    script({
      one: pageOf(
        [...odd, tombstone, { id: 'gone', '@removed': { reason: 'deleted' } }, { id: 'ghost' }, root],
        {
          delta: link('end'),
        },
      ),
    });
    const round = await read('one', { onPage: (_, items) => expect(items).toBe(odd.length + 4) });
    expect(round).toMatchObject({
      changes: [
        { id: 't', name: null, parentId: 'p', kind: 'folder', deleted: true },
        { id: 'gone', kind: 'unknown', deleted: true },
        { id: 'ghost', name: null, parentId: null, kind: 'unknown', deleted: false },
      ],
    });
  });

  it.each([
    "/v1.0/drives/b!drive/root/delta(token='a%2Bb c')",
    "/v1.0/drives('b!drive')/items('01')/microsoft.graph.delta(token='x%27y')?$skip=1&%24x=%41",
    '/v1.0/drives/b!drive/root/delta?token=MzslMjM0OyUyMzE7Mzs%3d&%24top=5',
  ])('calls links as they are, whatever their spelling: %s (D17, D18, bug 16)', async (spelled) => {
    const target = spelled.replaceAll(' ', '%20');
    feed.answer = (request) =>
      request.target === target
        ? pageOf([], { delta: `${feed.url}${target}2` })
        : refusalOf(404, 'itemNotFound');
    const round = await readChanges(graph, { driveId: 'b!drive', link: `${feed.url}${target}` });
    expect(round).toMatchObject({ kind: 'changes', link: `${feed.url}${target}2` });
    expect(feed.requests.map((request) => request.target)).toEqual([target]);
  });

  it('keeps only so many changes and says that there were more (bugs 37, 39)', async () => {
    const limits = { pages: 100, stalePages: 3, changes: 5 };
    const items = (from: number) => Array.from({ length: 4 }, (_, at) => file(`i${from + at}`, 'F'));
    script({
      one: pageOf(items(0), { next: link('two') }),
      two: pageOf(items(4), { next: link('three') }),
      three: pageOf(items(8), { delta: link('end') }),
    });
    const round = await read('one', { limits });
    expect(round).toMatchObject({ kind: 'changes', tooMany: true, link: link('end') });
    expect(round).toMatchObject({ changes: { length: 5 } });
  });
});

describe('pages that do not end', () => {
  it('are left where a link repeats; what they brought is a hint all the same (D16, bug 15)', async () => {
    script({
      one: pageOf([file('a', 'A')], { next: link('two') }),
      two: pageOf([file('b', 'B')], { next: link('two') }),
    });
    expect(await read('one')).toMatchObject({ kind: 'stuck', changes: [{ id: 'a' }, { id: 'b' }] });
    expect(feed.requests).toHaveLength(2);
  });

  it('are left where fresh links bring the same items again and again (D16, bug 15)', async () => {
    let at = 0;
    feed.answer = () => pageOf([file('a', 'A')], { next: link(`fresh-${(at += 1)}`) });
    expect(await read('one')).toMatchObject({ kind: 'stuck', changes: [{ id: 'a' }] });
    expect(feed.requests.length).toBeLessThan(60);
  });

  it('are left at so many pages, though each brings something new (D16)', async () => {
    let at = 0;
    feed.answer = () => pageOf([file(`i${(at += 1)}`, 'A')], { next: link(`fresh-${at}`) });
    const limits = { pages: 20, stalePages: 5, changes: 1000 };
    expect(await read('one', { limits })).toMatchObject({ kind: 'stuck' });
    expect(feed.requests).toHaveLength(20);
  });

  it('are no reason to stop where the last of many stale pages ends the round', async () => {
    const limits = { pages: 100, stalePages: 4, changes: 1000 };
    script({
      one: pageOf([], { next: link('two') }),
      two: pageOf([], { next: link('three') }),
      three: pageOf([file('a', 'A')], { next: link('four') }),
      four: pageOf([], { next: link('five') }),
      five: pageOf([], { next: link('six') }),
      six: pageOf([], { next: link('seven') }),
      seven: pageOf([], { delta: link('end') }),
    });
    expect(await read('one', { limits })).toMatchObject({ kind: 'changes', link: link('end') });
  });
});

describe('a link that is worth nothing any more', () => {
  const fresh = () => ({ latest: pageOf([], { delta: link('new') }) });
  const dead: [string, () => FeedAnswer][] = [
    ['410 resyncRequired', () => refusalOf(410, 'resyncRequired')],
    ['410 without any code', () => ({ status: 410 })],
    [
      '410 resyncChangesApplyDifferences with a Location',
      () => ({
        ...refusalOf(410, 'resyncChangesApplyDifferences', 'resyncApplyDifferences'),
        headers: { location: link('location') },
      }),
    ],
    [
      '410 resyncChangesUploadDifferences with a broken Location',
      () => ({ ...refusalOf(410, 'resyncChangesUploadDifferences'), headers: { location: 'nowhere' } }),
    ],
    ['404 with the code at depth', () => refusalOf(404, 'itemNotFound', 'syncStateNotFound')],
    ['400 with the code at depth', () => refusalOf(400, 'invalidRequest', 'resyncRequired')],
    ['400 with any code', () => refusalOf(400, 'invalidRequest')],
    ['404 with any code', () => refusalOf(404, 'itemNotFound')],
    ['403 with the code', () => refusalOf(403, 'resyncRequired')],
  ];
  it.each(dead)(
    'by %s is given up for the end of the feed, on the first page and in mid-page (D19, D20, F63, bugs 11, 12, 13)',
    async (_, answer) => {
      script({ ...fresh(), one: answer });
      expect(await read('one')).toMatchObject({ kind: 'fresh', link: link('new') });
      script({ ...fresh(), one: pageOf([file('a', 'A')], { next: link('two') }), two: answer });
      expect(await read('one')).toMatchObject({ kind: 'fresh', link: link('new') });
      expect(targets().some((target) => target.includes('location'))).toBe(false);
    },
  );

  it('is kept where the service only has trouble (D23, bugs 38, 39)', async () => {
    for (const status of [500, 502, 503, 504]) {
      feed.requests.length = 0;
      script({ one: refusalOf(status, 'generalException') });
      await expect(read('one')).rejects.toMatchObject({ name: 'GraphError' });
      expect(targets().every((target) => target.endsWith('token=one'))).toBe(true);
    }
    script({ one: refusalOf(403, 'accessDenied') });
    await expect(read('one')).rejects.toMatchObject({
      trouble: 'forbidden',
      status: 403,
      requestId: 'req-7',
    });
  });

  it('is kept where the end of the feed is not to be had either', async () => {
    script({ one: refusalOf(410, 'resyncRequired'), latest: refusalOf(403, 'accessDenied') });
    await expect(read('one')).rejects.toMatchObject({ trouble: 'forbidden' });
  });
});

describe('a drive that does not tell of its changes', () => {
  it('is found by what it answers when the feed is begun (N2, bug 33)', async () => {
    script({ latest: refusalOf(400, 'notSupported') });
    expect(await read(null)).toMatchObject({
      kind: 'unsupported',
      message: expect.stringContaining('400, notSupported'),
    });
    script({ one: refusalOf(400, 'notSupported'), latest: refusalOf(400, 'notSupported') });
    expect(await read('one')).toMatchObject({ kind: 'unsupported' });
  });
});

describe('an answer that is no page', () => {
  it.each<[string, FeedAnswer]>([
    ['without a list', { body: { '@odata.deltaLink': 'x' } }],
    ['whose list is none', { body: { value: {}, '@odata.deltaLink': 'x' } }],
    ['without a link', { body: { value: [] } }],
    ['with empty links', { body: { value: [], '@odata.nextLink': '', '@odata.deltaLink': '' } }],
    ['that is a list', { body: [] }],
  ])('%s is trouble, and never an empty round (bugs 35, 38)', async (_, answer) => {
    script({ one: answer });
    await expect(read('one')).rejects.toMatchObject({ trouble: 'protocol' });
  });

  it('on another host is not asked for (T6, F66)', async () => {
    const elsewhere = await startFeedServer(() => pageOf([], { delta: 'x' }));
    script({
      one: pageOf([file('a', 'A')], { next: `${elsewhere.url}/v1.0/drives/b!drive/root/delta?token=two` }),
    });
    await expect(read('one')).rejects.toMatchObject({ trouble: 'untrusted' });
    expect(elsewhere.requests).toEqual([]);
    await elsewhere[Symbol.asyncDispose]();
  });
});

describe('what a link was made with', () => {
  it('differs by drive and by service (D18, A8)', () => {
    const made = new Set([linkMadeWith(graph, 'b!one'), linkMadeWith(graph, 'b!two')]);
    made.add(linkMadeWith({ cloud: { ...graph.cloud, baseUrl: 'https://elsewhere.example' } }, 'b!one'));
    expect(made.size).toBe(3);
  });
});
