import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { RelativePath } from '../../src/core/package.ts';
import { lookBeneathRoot, type LookHabits } from '../../src/source/look-beneath-root.ts';
import { LookCollector, type LocalLook, type LookRequest } from '../../src/source/look-steps.ts';
import { openRootByDescriptor, type Place } from '../../src/source/place.ts';
import { makeFolder, type TemporaryFolder } from '../support/source-folder.ts';

const sleepLess = { pausesMs: [50, 150, 400], sleep: (): Promise<void> => Promise.resolve() };

function ask(folder: TemporaryFolder, files: readonly string[]): LookRequest {
  const request = { root: folder.root, withContent: true, maxFileBytes: 100, hosts: [] };
  return { ...request, paths: files as readonly RelativePath[] };
}

/** A look during which `meddle` is called at every check, with the number of the check. */
async function lookWhile(
  request: LookRequest,
  meddle: (check: number) => Promise<unknown>,
): Promise<LocalLook> {
  const collector = new LookCollector(request);
  let checks = 0;
  for await (const step of lookBeneathRoot(request, { rereadMs: [0, 0, 0], patience: sleepLess })) {
    const look = collector.take(step);
    if (look !== null) return look;
    if (step.kind === 'checking') await meddle((checks += 1));
  }
  throw new Error('A look ended without its last step.');
}

function texts(look: LocalLook): unknown {
  if (look.root === 'trouble') return look.code;
  return look.files.map((file) =>
    file.state === 'present' ? Buffer.from(file.content ?? []).toString() : file.state,
  );
}

/** Meddles at the first check only. */
function once(deed: () => Promise<unknown>): (check: number) => Promise<unknown> {
  return async (check) => check === 1 && deed();
}

describe('what changes before the look is at its end', () => {
  it('is read again: other bytes of the same size', async () => {
    await using folder = await makeFolder({ 'root/a.md': 'old', 'root/b.md': 'b' });
    const meddle = once(() => writeFile(join(folder.root, 'a.md'), 'new'));
    expect(texts(await lookWhile(ask(folder, ['a.md', 'b.md']), meddle))).toEqual(['new', 'b']);
  });

  it('is read again: a file that was replaced, that went, that came', async () => {
    await using folder = await makeFolder({ 'root/a.md': 'a', 'root/a.tmp': 'A', 'root/b.md': 'b' });
    const meddle = once(async () => {
      await rename(join(folder.root, 'a.tmp'), join(folder.root, 'a.md'));
      await rm(join(folder.root, 'b.md'));
      await writeFile(join(folder.root, 'c.md'), 'c');
    });
    const files = ['a.md', 'b.md', 'c.md'];
    expect(texts(await lookWhile(ask(folder, files), meddle))).toEqual(['A', 'absent', 'c']);
  });

  it('is read again: a folder that was moved away with what had been read', async () => {
    await using folder = await makeFolder({ 'root/p/a.md': 'a', 'root/q/a.md': 'other' });
    const meddle = once(async () => {
      await rename(join(folder.root, 'p'), join(folder.path, 'away'));
      await rename(join(folder.root, 'q'), join(folder.root, 'p'));
    });
    expect(texts(await lookWhile(ask(folder, ['p/a.md']), meddle))).toEqual(['other']);
  });

  it('makes the caller try again where it never ends', async () => {
    await using folder = await makeFolder({ 'root/a.md': 'a', 'root/b.md': 'b' });
    const look = lookWhile(ask(folder, ['a.md', 'b.md']), (check) =>
      writeFile(join(folder.root, 'b.md'), 'b'.repeat(check + 1)),
    );
    await expect(look).rejects.toMatchObject({
      name: 'SourceError',
      next: 'retry',
      message: expect.stringContaining('b.md'),
    });
  });

  it('is trouble with the root where that is gone, and a new try where another has taken its place', async () => {
    await using folder = await makeFolder({ 'root/a.md': 'a', 'other/a.md': 'other' });
    const away = (): Promise<void> => rename(folder.root, join(folder.path, 'away'));
    expect(texts(await lookWhile(ask(folder, ['a.md']), once(away)))).toBe('root_missing');
    await rename(join(folder.path, 'away'), folder.root);
    const exchange = once(async () => {
      await away();
      await rename(join(folder.path, 'other'), folder.root);
    });
    await expect(lookWhile(ask(folder, ['a.md']), exchange)).rejects.toMatchObject({ next: 'retry' });
  });

  it('is no deletion of files where the root was emptied', async () => {
    await using folder = await makeFolder({ 'root/a.md': 'a' });
    const meddle = once(async () => {
      await rm(join(folder.root, 'a.md'));
      await mkdir(folder.root, { recursive: true });
    });
    expect(texts(await lookWhile(ask(folder, ['a.md']), meddle))).toBe('root_empty');
  });
});

/** A look at one file whose opening fails with `codes`, one after another, and then succeeds. */
async function lookThrough(
  codes: readonly string[],
): Promise<{ readonly file: unknown; readonly waited: number[] }> {
  await using folder = await makeFolder({ 'root/a.md': 'a' });
  const left = [...codes];
  const waited: number[] = [];
  const habits: Partial<LookHabits> = {
    openRoot: (path) => failing(openRootByDescriptor(path), left),
    patience: { pausesMs: [50, 150, 400], sleep: async (ms) => waited.push(ms) },
  };
  for await (const step of lookBeneathRoot(ask(folder, ['a.md']), habits)) {
    if (step.kind === 'file') return { file: step.look, waited };
  }
  throw new Error('A look ended without its file.');
}

/** The same place, except that files below it cannot be opened while there are codes left. */
function failing(place: Place, codes: string[]): Place {
  return {
    stats: place.stats,
    open: (name) => failing(place.open(name), codes),
    readLink: (name) => place.readLink(name),
    list: (limit) => place.list(limit),
    openToRead() {
      const code = codes.shift();
      if (code !== undefined) throw Object.assign(new Error(code), { code });
      return place.openToRead();
    },
    realPath: () => place.realPath(),
    [Symbol.dispose]: () => place[Symbol.dispose](),
  };
}

describe('an error of the system', () => {
  it('that passes is waited out', async () => {
    expect(await lookThrough(['EBUSY', 'EAGAIN'])).toMatchObject({
      file: { state: 'present' },
      waited: [50, 150],
    });
  });

  it.each([
    [['EBUSY', 'EBUSY', 'EBUSY', 'EBUSY'], 'unreadable', 3],
    [['EDEADLK', 'EDEADLK', 'EDEADLK', 'EDEADLK'], 'not_downloaded', 3],
    [['EACCES'], 'unreadable', 0],
    [['EIO'], 'unreadable', 0],
  ])('%j is %s after %i waits', async (codes, code, waits) => {
    const { file, waited } = await lookThrough(codes);
    expect(file).toMatchObject({ state: 'refused', code, message: expect.stringContaining('"a.md"') });
    expect(waited.length).toBe(waits);
  });

  it('that is about this process ends the look', async () => {
    await expect(lookThrough(['EMFILE'])).rejects.toMatchObject({ code: 'EMFILE' });
  });
});
