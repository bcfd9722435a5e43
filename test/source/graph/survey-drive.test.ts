import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import type { DriveSurvey } from '../../../src/core/drive-survey.ts';
import { openGraph } from '../../../src/source/graph/graph-client.ts';
import { GraphError } from '../../../src/source/graph/graph-error.ts';
import { surveyDrive, type DriveToSurvey } from '../../../src/source/graph/survey-drive.ts';
import { startFakeGraph, type FakeGraph } from '../../support/fake-graph/fake-graph.ts';
import type { Fault } from '../../support/fake-graph/faults.ts';
import { makeFolder } from '../../support/source-folder.ts';

const text = '# Rules\nAsk first.\n';
const paths = ['Absent.md', 'Knowledge/rules.md'];

type Changes = Partial<Pick<DriveToSurvey, 'paths' | 'patienceMs' | 'clock'>> & {
  readonly rootPath?: string;
};

/** A drive with one listed file, and what the doctor is told of it while the faults are there. */
async function survey(
  faults: readonly Fault[],
  { rootPath = '', ...changes }: Changes = {},
  arrange: (fake: FakeGraph) => unknown = () => undefined,
): Promise<DriveSurvey> {
  await using folder = await makeFolder({ 'root/Knowledge/rules.md': text, 'root/Empty': { folder: true } });
  await using fake = await startFakeGraph({ root: folder.root });
  for (const fault of faults) fake.fault(fault);
  arrange(fake);
  const { driveId, url, token } = fake;
  await using graph = openTestGraph(url, token);
  const answer = await surveyDrive({
    graph,
    readToken: async () => token,
    resolve: async () => ({ driveId, rootPath }),
    clock: () => new Date(),
    paths,
    maxFileBytes: 1000,
    ...changes,
  });
  expect(fake.writes).toEqual([]);
  return answer;
}

/** Retries cost no time, and where the service asks to wait the clock of the gate runs on. */
function openTestGraph(baseUrl: string, token: string, sleep: () => Promise<void> = async () => undefined) {
  return openGraph(
    {
      cloud: 'global',
      baseUrl,
      authority: null,
      downloadHosts: [],
      credentials: { kind: 'token', token },
    },
    { habits: { sleep } },
  );
}

const status = (code: number, match: Fault['match'] = {}): Fault => ({ kind: 'status', status: code, match });
const drive = { path: /^\/drives\/[^/]+$/ };
const root = { path: /^\/drives\/[^/]+\/root$/ };
const feed = { path: 'root/delta' };

const wordOf = (asked: DriveSurvey[keyof Omit<DriveSurvey, 'clockAheadMs'>]): string =>
  asked.state === 'refused' ? `${asked.trouble} ${asked.status}` : asked.state;

function wordsOf({ token, place, drive: asked, root: folder, changes, content }: DriveSurvey) {
  return {
    token: wordOf(token),
    place: wordOf(place),
    drive: wordOf(asked),
    root: wordOf(folder),
    changes: wordOf(changes),
    content: wordOf(content),
  };
}

const well = {
  token: 'answered',
  place: 'answered',
  drive: 'answered',
  root: 'answered',
  changes: 'answered',
  content: 'answered',
};
const hopeless = { root: 'not_asked', changes: 'not_asked', content: 'not_asked' };

describe('a survey of a drive', () => {
  it('CONTROL: answers every question of a drive where nothing is wrong, and writes nothing (P1)', async () => {
    const found = await survey([]);
    expect(wordsOf(found)).toEqual(well);
    expect(found).toMatchObject({
      drive: { answer: { type: 'documentLibrary' } },
      root: { answer: { kind: 'folder' } },
      content: { answer: { path: 'Knowledge/rules.md', sizeBytes: text.length, isAsReported: true } },
    });
    expect(Math.abs(found.clockAheadMs ?? Infinity)).toBeLessThan(5000);
  });

  it.each<[what: string, faults: readonly Fault[], expected: Record<string, string>]>([
    ['a token that is refused (T8)', [status(401)], { drive: 'credentials 401', ...hopeless }],
    ['a drive that is not there (T9)', [status(404, drive)], { drive: 'missing 404', ...hopeless }],
    ['a locked site (T9)', [status(423, drive)], { drive: 'locked 423', ...hopeless }],
    [
      'a drive that is closed, with an open folder in it (P1)',
      [status(403, drive)],
      { drive: 'forbidden 403' },
    ],
    [
      'a grant that is not there (P1)',
      [status(403)],
      { drive: 'forbidden 403', root: 'forbidden 403', changes: 'forbidden 403', content: 'not_asked' },
    ],
    ['a root that is not there', [status(404, root)], { root: 'missing 404', content: 'not_asked' }],
    ['a feed that asks for more rights (P2)', [status(403, feed)], { changes: 'forbidden 403' }],
    ['a cloud without a feed (N2)', [status(400, feed)], { changes: 'refused 400' }],
    ['a service that is down', [status(500)], { drive: 'unavailable 500', ...hopeless }],
    ['half answers (T6)', [{ kind: 'body', body: 'cut' }], { drive: 'unavailable 200', ...hopeless }],
    ['no answers', [{ kind: 'reset', at: 'start' }], { drive: 'unavailable null', ...hopeless }],
    [
      'a host of contents that refuses (C5)',
      [status(401, { origin: 'content' })],
      { content: 'forbidden 401' },
    ],
  ])('tells %s, and asks nothing that could only fail in its wake', async (_, faults, expected) => {
    const found = await survey(faults);
    expect(wordsOf(found)).toEqual({ ...well, ...expected });
  });

  it.each([500, 429])(
    'tells %d for a step of a batch as such, and not that no file is there',
    async (code) => {
      const found = await survey([
        { ...status(code, { step: true }), headers: { 'retry-after': '0' } } as Fault,
      ]);
      const trouble = code === 429 ? 'throttled' : 'unavailable';
      expect(found.content).toMatchObject({ state: 'refused', trouble, status: code });
      expect(found.content).toMatchObject({ requestId: expect.any(String) as string });
    },
  );

  it('reads a file that it may read, whatever another one is answered with', async () => {
    const found = await survey([status(500, { step: true, path: 'Absent.md' })]);
    expect(found.content).toMatchObject({ answer: { path: 'Knowledge/rules.md' } });
  });

  it('CONTROL: says that no listed file is there where each of them is answered with 404', async () => {
    expect((await survey([], { paths: ['Absent.md'] })).content).toEqual({ state: 'answered', answer: null });
  });

  it('keeps code and request id of a refusal (P2)', async () => {
    const found = await survey([{ kind: 'status', status: 403, code: 'accessDenied', innerCode: 'why' }]);
    expect(found.root).toMatchObject({
      codes: ['accessDenied', 'why'],
      requestId: expect.any(String) as string,
    });
  });

  it('finds a file where a folder should be, and a folder below the root', async () => {
    const kindOf = async (rootPath: string) => (await survey([], { rootPath })).root;
    expect(await kindOf('Knowledge/rules.md')).toMatchObject({ answer: { kind: 'file' } });
    expect(await kindOf('Knowledge')).toMatchObject({ answer: { kind: 'folder' } });
    expect(await kindOf('Nowhere')).toMatchObject({ trouble: 'missing', status: 404 });
  });

  it.each<[what: string, fault: Fault]>([
    ['another hash (C10)', { kind: 'item', hash: Buffer.alloc(20, 1).toString('base64') }],
    ['another length (bug 23)', { kind: 'item', fields: { size: 26 } }],
    ['other bytes', { kind: 'content', change: 'flip' }],
    ['a page instead of the file (bug 4)', { kind: 'body', body: 'html', match: { origin: 'content' } }],
  ])('finds %s than the drive reports', async (_, fault) => {
    expect((await survey([fault])).content).toMatchObject({ answer: { isAsReported: false } });
  });

  it.each([-1, undefined, null])('does without a hash and with the length %s (C3, C11)', async (size) => {
    const found = await survey([{ kind: 'item', hash: null, fields: { size } }]);
    expect(found.content).toMatchObject({ answer: { isAsReported: null } });
  });

  it('tells how far the clock of the service is ahead', async () => {
    const found = await survey([{ kind: 'clock', skewSeconds: 3600 }]);
    expect(Math.abs((found.clockAheadMs ?? 0) - 3_600_000)).toBeLessThan(5000);
  });

  it('asks nothing without a token or a place', async () => {
    await using folder = await makeFolder({ 'root/a.md': 'x' });
    await using fake = await startFakeGraph({ root: folder.root });
    await using graph = openTestGraph(fake.url, fake.token);
    const refuse = async (): Promise<never> => {
      throw new GraphError('setup', 'Nothing is set.');
    };
    const asked = { graph, clock: () => new Date(), paths, maxFileBytes: 1000 };
    const readToken = async () => fake.token;
    const without = await surveyDrive({ ...asked, readToken: refuse, resolve: refuse });
    const nowhere = await surveyDrive({ ...asked, readToken, resolve: refuse });
    expect(wordsOf(without)).toMatchObject({ token: 'setup null', place: 'not_asked', drive: 'not_asked' });
    expect(wordsOf(nowhere)).toMatchObject({ token: 'answered', place: 'setup null', drive: 'not_asked' });
    expect(fake.requests).toEqual([]);
  });
});

describe('a survey of a service that does not answer', () => {
  it.each<'start' | 'body'>(['start', 'body'])('ends within its patience, at the %s', async (at) => {
    const begin = performance.now();
    const found = await survey([{ kind: 'hang', at, match: drive }], { patienceMs: 200 });
    expect(performance.now() - begin).toBeLessThan(3000);
    expect(wordsOf(found)).toEqual({ ...well, drive: 'no_answer null', ...hopeless });
  });

  it('leaves no request behind when the client is closed after it', async () => {
    await using silent = await startSilentServer();
    {
      await using graph = openTestGraph(silent.url, 'a');
      await surveyDrive({
        graph,
        readToken: async () => 'a',
        resolve: async () => ({ driveId: 'b!x', rootPath: '' }),
        clock: () => new Date(),
        paths,
        maxFileBytes: 1000,
        patienceMs: 100,
      });
      expect(silent.open()).toBe(1); // CONTROL: the question is still there.
    }
    await expect.poll(() => silent.open(), { timeout: 3000 }).toBe(0);
  });

  it('says until when the service asks to wait (T1)', async () => {
    await using folder = await makeFolder({ 'root/a.md': 'x' });
    await using fake = await startFakeGraph({ root: folder.root });
    fake.fault({ kind: 'status', status: 429, headers: { 'retry-after': '120' } });
    const never = () => new Promise<void>(() => undefined);
    await using graph = openTestGraph(fake.url, fake.token, never);
    const { drive: answer } = await surveyDrive({
      graph,
      readToken: async () => fake.token,
      resolve: async () => ({ driveId: fake.driveId, rootPath: '' }),
      clock: () => new Date(),
      paths,
      maxFileBytes: 1000,
      patienceMs: 300,
    });
    expect(answer).toMatchObject({ state: 'refused', trouble: 'throttled' });
    expect(answer.state === 'refused' && answer.message).toMatch(/wait until \d{4}-/);
  });
});

/** Takes requests and never answers; counts those that are still open. */
async function startSilentServer(): Promise<AsyncDisposable & { readonly url: string; open(): number }> {
  let open = 0;
  const server = createServer((_, response) => {
    open += 1;
    response.on('close', () => (open -= 1));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    open: () => open,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
