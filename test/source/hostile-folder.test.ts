/** Recipe R10: what a hostile folder can do to a look, and what a careless reader would make of it. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { linkSync, readFileSync, realpathSync } from 'node:fs';
import { chmod, link, open, readFile, realpath, symlink } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join, sep } from 'node:path';
import { promisify } from 'node:util';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SourceError } from '../../src/core/errors.ts';
import type { LocalLook } from '../../src/source/look-steps.ts';
import { openLocalSource, type LocalSource } from '../../src/source/local-source.ts';
import { openRootByPath } from '../../src/source/place-by-path.ts';
import { openRootByDescriptor } from '../../src/source/place.ts';
import { countDescriptors, peakMemoryMib, startScript, until } from '../support/watched-processes.ts';
import { listed, lookHere, makeFolder, type TemporaryFolder, type Thing } from '../support/source-folder.ts';

const isLong = process.env['AGENT_KNOWLEDGE_TEST_LONG'] === '1';
const canary = 'CANARY-7f3b9a';
const options = { withContent: true, maxFileBytes: 65_536 };
const makePipe = (path: string): Promise<unknown> => promisify(execFile)('mkfifo', [path]);

let folder: TemporaryFolder;
let source: LocalSource;

beforeAll(async () => {
  folder = await makeFolder({ 'root/good.md': 'good', 'outside/rules.md': canary, 'secret.md': canary });
  source = openLocalSource({ root: folder.root });
  await source.look([], options);
});
afterAll(async () => {
  await source[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

/** One look at `path`, which must be quick, and whose good neighbour must be read all the same. */
async function lookAt(path: string): Promise<{ readonly state: string; readonly code?: string }> {
  const start = performance.now();
  const look = await source.look(listed(path, 'good.md'), options);
  expect(performance.now() - start).toBeLessThan(1_000);
  expect(JSON.stringify(look)).not.toContain(canary);
  const [file, neighbour] = look.root === 'present' ? look.files : [];
  expect(neighbour).toMatchObject({ state: 'present' });
  expect(file).toBeDefined();
  return file!;
}

describe('in place of a listed file', () => {
  it('a named pipe is refused, and no look waits for a writer', async () => {
    await makePipe(join(folder.root, 'pipe.md'));
    expect(await lookAt('pipe.md')).toMatchObject({ state: 'refused', code: 'not_regular_file' });
  });

  it('four named pipes at once leave the looks at other packages their time', async () => {
    const pipes = ['p1.md', 'p2.md', 'p3.md', 'p4.md'];
    for (const pipe of pipes) await makePipe(join(folder.root, pipe));
    const [blocked] = await Promise.all([
      source.look(listed(...pipes), options),
      lookAt('good.md'),
      lookAt('good.md'),
    ]);
    const refused = { state: 'refused', code: 'not_regular_file' };
    expect(blocked).toMatchObject({ files: [refused, refused, refused, refused] });
  });

  it('a socket is refused', async () => {
    const server = createServer().listen(join(folder.root, 'socket.md'));
    await once(server, 'listening');
    expect(await lookAt('socket.md')).toMatchObject({ state: 'refused', code: 'not_regular_file' });
    server.close();
  });

  it('a device is refused without being opened', async () => {
    // The devices' own folder is the root, so that no right to make one is needed.
    await using devices = openLocalSource({ root: '/dev', limits: { readers: 1 } });
    expect(await devices.look(listed('zero', 'null'), options)).toMatchObject({
      files: [
        { state: 'refused', code: 'not_regular_file' },
        { state: 'refused', code: 'not_regular_file' },
      ],
    });
  });

  it('a link to a device is refused', async () => {
    await symlink('/dev/zero', join(folder.root, 'zero.md'));
    expect(await lookAt('zero.md')).toMatchObject({ state: 'refused', code: 'path_escapes_root' });
  });

  it('a second name of a secret is refused', async () => {
    await link(join(folder.path, 'secret.md'), join(folder.root, 'hard.md'));
    expect(await lookAt('hard.md')).toMatchObject({ state: 'refused', code: 'path_escapes_root' });
  });

  it('a sparse terabyte is refused unread', async () => {
    const file = await open(join(folder.root, 'sparse.md'), 'w');
    await file.truncate(2 ** 40);
    await file.close();
    expect(await lookAt('sparse.md')).toMatchObject({ state: 'refused', code: 'too_large' });
  });

  it('a file that never stops growing is refused within a second', async () => {
    await using own = await makeFolder({ 'root/grows.md': 'g' });
    await using _ = await startScript('hostile-writer.ts', ['grow', join(own.root, 'grows.md')]);
    await using readers = openLocalSource({ root: own.root, limits: { readers: 1 } });
    await readers.look([], options);
    // Until it is too large the folder may hold still for a look, or not.
    const counts = await race(1_000, () => readers.look(listed('grows.md'), options), 'too_large');
    expect(counts.get('too_large')).toBe(1);
  });

  it('a file that is rewritten all the time makes the caller look again', async () => {
    await using own = await makeFolder({ 'root/rules.md': 'a'.repeat(4096) });
    await using _ = await startScript('hostile-writer.ts', ['rewrite', join(own.root, 'rules.md')]);
    const lookOnce = (): Promise<LocalLook> =>
      lookHere({ root: own.root, files: ['rules.md'] }, { rereadMs: [0] });
    const counts = await race(10_000, lookOnce, 'retry');
    expect(counts.get('retry')).toBe(1);
  });

  it('a file without read permission is unreadable, and so is what lies in a closed folder', async () => {
    await using own = await makeFolder({
      'root/open.md': 'open',
      'root/closed.md': canary,
      'root/closed/a.md': canary,
    });
    await chmod(join(own.root, 'closed.md'), 0);
    await chmod(join(own.root, 'closed'), 0);
    // The administrator may read everything, so that user looks as somebody else.
    const user = process.getuid?.() === 0 ? '65534' : '0';
    const files = ['open.md', 'closed.md', 'closed/a.md'];
    await using other = await startScript('look-as-user.ts', [user, ...files], { cwd: own.root });
    expect(other.first).toMatchObject({
      root: 'present',
      files: [
        { state: 'present' },
        { state: 'refused', code: 'unreadable' },
        { state: 'refused', code: 'unreadable' },
      ],
    });
    expect(JSON.stringify(other.first)).not.toContain(canary);
    await chmod(join(own.root, 'closed'), 0o755);
  });

  it('costs no memory', () => {
    for (const { processId } of source.readers) expect(peakMemoryMib(processId!)).toBeLessThan(256);
  });
});

describe('a very deep and a very wide folder', () => {
  it('is walked no deeper than a link may lead', async () => {
    const deep = 'd/'.repeat(300);
    await using own = await makeFolder({
      [`root/${deep}a.md`]: 'deep',
      'root/a.md': { link: `${deep}a.md` },
    });
    expect(await lookHere({ root: own.root, files: ['a.md'] })).toMatchObject({
      files: [{ state: 'refused', code: 'unreadable' }],
    });
  });

  it('hardly delays a look', async () => {
    await using own = await makeFolder({ 'root/a.md': 'a', 'root/x.md': 'x' });
    for (let at = 0; at < 12_000; at += 1) linkSync(join(own.root, 'x.md'), join(own.root, `x${at}.md`));
    const start = performance.now();
    expect(await lookHere({ root: own.root, files: ['a.md', 'b.md'] })).toMatchObject({
      files: [{ state: 'present' }, { state: 'absent', hints: [] }],
    });
    expect(performance.now() - start).toBeLessThan(1_000);
  });
});

/** A folder whose `folder/rules.md` is now inside and now outside the root, as fast as the system can swap it. */
async function startExchange(): Promise<TemporaryFolder> {
  const own = await makeFolder({
    'root/folder/rules.md': 'inside',
    'root/.link': { link: '../outside' },
    'outside/rules.md': canary,
  });
  const writer = await startScript('hostile-writer.ts', ['exchange', join(own.root, 'folder')]);
  return {
    ...own,
    async [Symbol.asyncDispose]() {
      await writer[Symbol.asyncDispose]();
      await own[Symbol.asyncDispose]();
    },
  };
}

/** What was found at one path, counted, over `forMs` of looks one after another, or until `last` was found. */
async function race(forMs: number, look: () => Promise<LocalLook>, last = ''): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  const end = performance.now() + forMs;
  while (performance.now() < end && !counts.has(last)) {
    const what = await look().then(wordFor, (error: unknown) => {
      if (error instanceof SourceError) return error.next;
      throw error;
    });
    counts.set(what, (counts.get(what) ?? 0) + 1);
  }
  return counts;
}

function wordFor(look: LocalLook): string {
  const file = look.root === 'present' ? look.files[0] : undefined;
  if (file?.state === 'present') return Buffer.from(file.content ?? []).toString();
  return file?.state === 'refused' ? file.code : (file?.state ?? 'trouble');
}

describe('while a folder and a link out of the root change places', () => {
  const forMs = isLong ? 30_000 : 2_000;

  it('no look returns a byte from outside', { timeout: forMs + 30_000 }, async () => {
    await using own = await startExchange();
    // No pauses, so that there are as many tries as there can be.
    const habits = { rereadMs: [0, 0, 0, 0, 0] };
    const counts = await race(forMs, () => lookHere({ root: own.root, files: ['folder/rules.md'] }, habits));
    // Both sides of the exchange have been met, and nothing else.
    expect(counts.get('inside')).toBeGreaterThan(0);
    expect(counts.get('path_escapes_root')).toBeGreaterThan(0);
    expect([...counts.keys()].filter((word) => !harmless.has(word))).toEqual([]);
  });

  it('no look through the readers does either', { timeout: forMs + 30_000 }, async () => {
    await using own = await startExchange();
    await using readers = openLocalSource({ root: own.root });
    await readers.look([], options);
    const counts = await race(forMs / 2, () => readers.look(listed('folder/rules.md'), options));
    expect(counts.size).toBeGreaterThan(0);
    expect([...counts.keys()].filter((word) => !harmless.has(word))).toEqual([]);
  });

  const harmless = new Set(['inside', 'path_escapes_root', 'absent', 'retry']);

  it('CONTROL: a reader that checks the real path and then reads leaks', { timeout: 60_000 }, async () => {
    await using own = await startExchange();
    const leaked = (): boolean => {
      try {
        const path = join(own.root, 'folder/rules.md');
        if (!realpathSync(path).startsWith(own.root + sep)) return false;
        return readFileSync(path, 'utf8') === canary;
      } catch {
        return false;
      }
    };
    const end = performance.now() + 50_000;
    let isLeaky = false;
    while (!isLeaky && performance.now() < end) isLeaky = leaked();
    expect(isLeaky).toBe(true);
  });
});

describe.each([
  ['through /proc/self/fd', openRootByDescriptor],
  ['by checked paths', openRootByPath],
])('of any tree of folders, links and files, %s', (_, openRoot) => {
  const folders = ['', 'a/', 'b/', 'b/c/'];
  const step = fc.constantFrom('a', 'b', 'c', 'f', 'x', 'y', '..');
  const start = fc.constantFrom('', '', '/root/', '/outside/', '../outside/');
  const anywhere = fc
    .tuple(start, fc.array(step, { minLength: 1, maxLength: 4 }))
    .map(([from, steps]) => from + steps.join('/'));
  const target = fc.oneof(anywhere, fc.constantFrom('f', 'a', '../f', '../b', '../b/c/f', '/root/a/f', 'x'));
  const links = fc.array(fc.tuple(fc.constantFrom(...folders), fc.constantFrom('x', 'y'), target), {
    minLength: 3,
    maxLength: 8,
  });
  const asked = ['', 'a/', 'b/', 'b/c/', 'x/', 'y/', 'a/x/', 'b/y/', 'x/y/', 'b/c/x/'].flatMap((path) =>
    ['f', 'a/f', 'c/f', 'x', 'y'].map((name) => path + name),
  );

  it('the bytes returned are those of a file that lies below the root', { timeout: 180_000 }, async () => {
    const met = { present: 0, linked: 0, escapes: 0, absent: 0 };
    const check = async (tree: readonly (readonly [string, string, string])[]): Promise<void> => {
      await using own = await grow(tree);
      const look = await lookHere({ root: own.root, files: asked }, { openRoot });
      met.linked += look.root === 'present' ? look.notices.length : 0;
      for (const file of look.root === 'present' ? look.files : []) {
        if (file.state === 'absent') met.absent += 1;
        if (file.state === 'refused' && file.code === 'path_escapes_root') met.escapes += 1;
        if (file.state !== 'present') continue;
        met.present += 1;
        const real = await realpath(join(own.root, file.relativePath));
        expect(real.startsWith(own.root + sep)).toBe(true);
        expect(Buffer.from(file.content!)).toEqual(await readFile(real));
      }
    };
    await fc.assert(fc.asyncProperty(links, check), { numRuns: isLong ? 1_000 : 60 });
    // The trees were no empty exercise.
    expect(Object.values(met).filter((count) => count === 0)).toEqual([]);
  });

  /** Files that hold their own path, and these links among them; a second link by the same name is left out. */
  async function grow(tree: readonly (readonly [string, string, string])[]): Promise<TemporaryFolder> {
    const files = folders.map((path) => [`root/${path}f`, `${path}f`] as const);
    const outside = ['f', 'x', 'a/f', 'c/f'].map((path) => [`outside/${path}`, canary] as const);
    const own = await makeFolder(Object.fromEntries([...files, ...outside]));
    for (const [path, name, to] of tree) {
      const thing: Thing = { link: to.startsWith('/') ? own.path + to : to };
      await own.add(`root/${path}${name}`, thing).catch(() => {});
    }
    return own;
  }
});

it('no descriptor stays open, whatever a look meets', async () => {
  await using own = await makeFolder({
    'root/a/b/c.md': 'c',
    'root/loop': { link: 'loop' },
    'root/out': { link: '../..' },
    'root/in': { link: 'a/../a/b' },
    'root/gone': { link: 'a/nothing' },
  });
  const files = [
    'a/b/c.md',
    'a/b',
    'loop',
    'out/x',
    'in/c.md',
    'in',
    'gone',
    'a/b/c.md/d',
    'A/b',
    '../x',
    'a/../../x',
  ];
  await lookHere({ root: own.root, files });
  const before = countDescriptors(process.pid);
  for (let turn = 0; turn < 200; turn += 1) await lookHere({ root: own.root, files });
  await until(() => countDescriptors(process.pid) <= before);
});
