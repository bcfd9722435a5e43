import { describe, expect, it } from 'vitest';
import { listed } from '../../support/source-folder.ts';
import { told, withTinyDrive } from '../../support/tiny-source.ts';

const options = { withContent: true, maxFileBytes: 1000 };
const routine = { ...options, isRoutine: true };

describe('a name that a drive does not know', () => {
  it('is looked for in every page of its folder, in any Unicode form (A7), and reported with conflict copies (W30)', () =>
    withTinyDrive(async (drive, source) => {
      drive.pageSize = 2;
      for (const name of ['a.md', 'b.md', 'c.md', 'd.md']) drive.put(`docs/${name}`, name);
      drive.put('docs/e\u0301.md', 'decomposed');
      drive.put('docs/plan (1).md', 'copy');
      drive.put('docs/plan-DESKTOP-AB12CD3.md', 'copy');
      const look = await source.look(listed('docs/\u00e9.md', 'docs/plan.md'), options);
      expect(told(look)).toEqual([
        'decomposed',
        ['absent', 'conflict_copy_present', 'conflict_copy_present'],
      ]);
      const pages = drive.asked.filter((path) => path.includes('/children'));
      // Seven names at two to a page, before and after the download, and each only once for both files.
      expect(pages.length).toBe(8);
    }));

  it('is no hint where it is listed itself, and no folder is a copy of a file', () =>
    withTinyDrive(async (drive, source) => {
      drive.put('plan (1).md', 'listed');
      drive.put('plan (2).md/inner.md', 'x');
      const look = await source.look(listed('plan.md', 'plan (1).md'), options);
      expect(told(look)).toEqual([['absent'], 'listed']);
    }));

  it('is there where the answer by path lags behind the folder’s listing (T10, D22), read by id', () =>
    withTinyDrive(async (drive, source) => {
      drive.put('docs/new.md', 'fresh');
      drive.refusals.set('docs/new.md', 404);
      drive.idsAnswer = true;
      expect(told(await source.look(listed('docs/new.md'), options))).toEqual(['fresh']);
    }));

  it('is refused, not absent, where its folder may not be listed (T10, C14)', () =>
    withTinyDrive(async (drive, source) => {
      drive.put('docs/a.md', 'x');
      drive.refusals.set('children docs', 403);
      const look = await source.look(listed('docs/gone.md', 'docs/a.md'), options);
      expect(told(look)).toEqual(['unreadable', 'x']);
      expect(JSON.stringify(look)).toMatch(/status 403, code accessDenied, request req-7/);
    }));

  it('ends the look without an answer where the folder’s listing fails (bug 38): a failure is no empty list', () =>
    withTinyDrive(async (drive, source) => {
      drive.put('docs/a.md', 'x');
      drive.refusals.set('children docs', 503);
      await expect(source.look(listed('docs/gone.md'), options)).rejects.toMatchObject({ next: 'wait' });
    }));
});

describe('a question of a batch', () => {
  it('is asked again by itself when it is told to wait or fails (B1, T1), and the look is whole', () =>
    withTinyDrive(async (drive, source) => {
      for (const status of [429, 503, 500, 504]) {
        drive.put('a.md', `a after ${status}`);
        drive.put('b.md', 'b');
        let left = 2;
        drive.refusals.set('a.md', status);
        drive.onAsked = (path) => {
          if (path === 'root:/a.md' && (left -= 1) < 0) drive.refusals.clear();
        };
        expect(told(await source.look(listed('a.md', 'b.md'), options))).toEqual([`a after ${status}`, 'b']);
      }
    }));

  it('is not shared with a look that began after it had been answered: no answer is older than its look', () =>
    withTinyDrive(async (drive, source) => {
      drive.put('a.md', 'one');
      drive.put('z.md', 'z');
      await source.look(listed('a.md', 'z.md'), options);
      const later = Promise.withResolvers<unknown>();
      // The first look's answer about a.md is ready by now, and has not arrived.
      drive.onAsked = (path) => {
        if (path !== 'root:/z.md') return;
        drive.onAsked = () => undefined;
        drive.put('a.md', 'two');
        later.resolve(source.look(listed('a.md'), options).then(told));
      };
      await source.look(listed('a.md', 'z.md'), options);
      expect(await later.promise).toEqual(['two']);
    }));

  it('that fails for ever ends the look without an answer, and says nothing of the file (bug 38)', () =>
    withTinyDrive(async (drive, source) => {
      drive.put('a.md', 'x');
      for (const status of [429, 500, 503]) {
        drive.refusals.set('a.md', status);
        await expect(source.look(listed('a.md'), options)).rejects.toMatchObject({ next: 'wait' });
      }
    }));
});

describe('a look of the safety net', () => {
  it('asks for folders and for absent names’ listings once in five minutes, others each time (A2)', () =>
    withTinyDrive(async (drive, source, tiny) => {
      drive.put('docs/a.md', 'x');
      const files = listed('docs/a.md', 'docs/gone.md');
      const asked = async (how: typeof options) => {
        drive.asked.length = 0;
        expect(told(await source.look(files, how))).toEqual(['x', ['absent']]);
        return [
          drive.asked.filter((path) => path === 'root:/docs').length > 0,
          drive.asked.some((path) => path.endsWith('/children')),
        ];
      };
      expect(await asked(routine)).toEqual([true, true]);
      expect(await asked(routine)).toEqual([false, false]);
      expect(await asked(options)).toEqual([true, true]);
      tiny.pass(5 * 60_000);
      expect(await asked(routine)).toEqual([true, true]);
    }));

  it('notices within five minutes that a folder on the way changed its letter case (A2)', () =>
    withTinyDrive(async (drive, source, tiny) => {
      drive.put('docs/a.md', 'x');
      const look = async () => told(await source.look(listed('docs/a.md'), routine));
      expect(await look()).toEqual(['x']);
      const file = drive.files.get('docs/a.md');
      drive.files.clear();
      if (file !== undefined) drive.files.set('Docs/a.md', file);
      expect(await look()).toEqual(['x']);
      tiny.pass(5 * 60_000);
      expect(await look()).toEqual([['absent', 'name_differs_by_case']]);
    }));

  it('sees a changed file, a deleted one and one that came back at once all the same', () =>
    withTinyDrive(async (drive, source) => {
      drive.put('docs/a.md', 'one');
      drive.put('docs/b.md', 'b');
      const look = async () => told(await source.look(listed('docs/a.md'), routine));
      expect(await look()).toEqual(['one']);
      drive.put('docs/a.md', 'two');
      expect(await look()).toEqual(['two']);
      drive.files.delete('docs/a.md');
      expect(await look()).toEqual([['absent', 'deleted']]);
      drive.put('docs/a.md', 'three');
      expect(await look()).toEqual(['three']);
    }));
});

describe('the items that looks have met', () => {
  it('are the root, the listed files and the folders on the way, by id (A1), and stay known when a file goes', () =>
    withTinyDrive(async (drive, source) => {
      expect(await source.knownItems()).toEqual([]);
      const { id } = drive.put('docs/deep/a.md', 'x');
      await source.look(listed('docs/deep/a.md', 'docs/gone.md'), options);
      const expected = [
        { path: '.', kind: 'folder', itemId: 'folder .', parentId: null, name: 'root' },
        { path: 'docs', kind: 'folder', itemId: 'folder docs', parentId: 'folder .', name: 'docs' },
        {
          path: 'docs/deep',
          kind: 'folder',
          itemId: 'folder docs/deep',
          parentId: 'folder docs',
          name: 'deep',
        },
        { path: 'docs/deep/a.md', kind: 'file', itemId: id, parentId: 'folder docs/deep', name: 'a.md' },
      ];
      expect((await source.knownItems()).toSorted((a, b) => (a.path < b.path ? -1 : 1))).toEqual(expected);
      drive.files.delete('docs/deep/a.md');
      drive.put('docs/other.md', 'x');
      await source.look(listed('docs/deep/a.md'), options);
      expect((await source.knownItems()).map(({ itemId }) => itemId)).toContain(id);
    }));

  it('follow a file that was deleted and made anew under its name (A10)', () =>
    withTinyDrive(async (drive, source) => {
      const before = drive.put('a.md', 'same');
      await source.look(listed('a.md'), options);
      drive.files.delete('a.md');
      const after = drive.put('a.md', 'same');
      expect(after.id).not.toBe(before.id);
      expect(told(await source.look(listed('a.md'), options))).toEqual(['same']);
      expect((await source.knownItems()).find(({ path }) => path === 'a.md')?.itemId).toBe(after.id);
    }));
});

describe('closing a source', () => {
  it('ends a look that waits for a package to settle, or for bytes to agree, at once (C10, F65)', async () => {
    for (const spoil of [{}, { size: 26 }]) {
      let reached: () => void = () => undefined;
      const waiting = new Promise<void>((resolve) => {
        reached = resolve;
      });
      const sleep = (ms: number, signal: AbortSignal) =>
        new Promise((_resolve, reject) => {
          if (ms > 0) reached();
          signal.addEventListener('abort', () => reject(signal.reason as Error));
        });
      await withTinyDrive(
        async (drive, source) => {
          drive.put('a.md', '0', spoil);
          let n = 0;
          if (!('size' in spoil)) drive.onContent = () => drive.put('a.md', String((n += 1)));
          const look = source.look(listed('a.md'), options);
          const ended = expect(look).rejects.toMatchObject({ next: 'stop' });
          await waiting;
          await source[Symbol.asyncDispose]();
          await ended;
        },
        { sleep },
      );
    }
  });

  it('refuses every later question, and a look that it ended says so', () =>
    withTinyDrive(async (_drive, source) => {
      await source[Symbol.asyncDispose]();
      await expect(source.look(listed('a.md'), options)).rejects.toMatchObject({ next: 'stop' });
      await expect(source.seeRoot()).rejects.toMatchObject({ next: 'stop' });
    }));
});
