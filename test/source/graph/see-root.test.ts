import { describe, expect, it } from 'vitest';
import { listed } from '../../support/source-folder.ts';
import { told, withTinyDrive } from '../../support/tiny-source.ts';

const options = { withContent: true, maxFileBytes: 1000 };

describe('the root of a drive as the guard sees it', () => {
  it('is there with an identity that stays, empty only where its listing says so too (bug 35, D26)', () =>
    withTinyDrive(async (drive, source) => {
      expect(await source.seeRoot()).toMatchObject({ folder: 'empty' });
      expect(told(await source.look(listed('a.md'), options))).toBe('root_empty');
      drive.put('a.md', 'x');
      const sight = await source.seeRoot();
      expect(sight).toMatchObject({ folder: 'there', place: { identity: 'b!tiny:folder .' } });
      expect(await source.seeRoot()).toEqual(sight);
      drive.rootChildCount = 0;
      expect(await source.seeRoot()).toEqual(sight);
      expect(told(await source.look(listed('gone.md'), options))).toEqual([['absent']]);
    }));

  it('stays as it was in an outage, and is out of reach after fifteen seconds of it (T9)', () =>
    withTinyDrive(async (drive, source, tiny) => {
      drive.put('a.md', 'x');
      const good = await source.seeRoot();
      drive.refusals.set('.', 500);
      for (const ms of [0, 7_000, 7_900]) {
        tiny.pass(ms);
        expect(await source.seeRoot()).toEqual(good);
      }
      tiny.pass(100);
      const lost = await source.seeRoot();
      expect(lost).toMatchObject({ folder: 'absent', code: 'unavailable' });
      expect(lost.message).toMatch(/cannot be reached.*status 500/);
      await expect(source.look(listed('a.md'), options)).rejects.toMatchObject({ next: 'wait' });
      drive.refusals.clear();
      expect(await source.seeRoot()).toEqual(good);
      // A new outage is counted from its own beginning.
      drive.refusals.set('.', 500);
      expect(await source.seeRoot()).toEqual(good);
    }));

  it('is unknown, not absent, where the first question is not answered', () =>
    withTinyDrive(async (drive, source) => {
      drive.refusals.set('.', 500);
      await expect(source.seeRoot()).rejects.toMatchObject({ next: 'wait' });
    }));

  it('stays as it was while the service asks for patience (T1), also after it was told to be out of reach', () =>
    withTinyDrive(async (drive, source, tiny) => {
      drive.put('a.md', 'x');
      const good = await source.seeRoot();
      drive.refusals.set('.', 429);
      tiny.pass(60_000);
      expect(await source.seeRoot()).toEqual(good);
      drive.refusals.set('.', 500);
      await source.seeRoot();
      tiny.pass(15_000);
      const lost = await source.seeRoot();
      expect(lost.folder).toBe('absent');
      drive.refusals.set('.', 429);
      expect(await source.seeRoot()).toEqual(lost);
    }));

  it('is absent, with what is to be done, where the token is refused (T8), and the look waits', () =>
    withTinyDrive(async (drive, source) => {
      drive.put('a.md', 'x');
      drive.unauthorized = true;
      const sight = await source.seeRoot();
      expect(sight).toMatchObject({ folder: 'absent', code: 'credentials' });
      expect(sight.message).toContain('access token');
      expect(JSON.stringify(sight)).not.toContain('secret-token');
      await expect(source.look(listed('a.md'), options)).rejects.toMatchObject({ next: 'wait' });
      drive.unauthorized = false;
      expect(await source.seeRoot()).toMatchObject({ folder: 'there' });
    }));

  it('is no folder where the settings name a file', () =>
    withTinyDrive(
      async (drive, source) => {
        drive.put('Docs/a.md', 'x');
        expect(await source.seeRoot()).toMatchObject({ folder: 'not_a_folder', place: null });
        expect(told(await source.look(listed('b.md'), options))).toBe('root_missing');
      },
      { rootPath: 'Docs/a.md' },
    ));

  it('is another one where a folder was made anew under its name (A10, A1)', () =>
    withTinyDrive(
      async (drive, source) => {
        drive.put('Docs/a.md', 'x');
        const before = await source.look(listed('a.md'), options);
        drive.folderIds.set('Docs', 'folder-anew');
        const after = await source.look(listed('a.md'), options);
        expect([told(before), told(after)]).toEqual([['x'], ['x']]);
        expect(after.rootIdentity).not.toBe(before.rootIdentity);
        expect((await source.seeRoot()).place?.identity).toBe(after.rootIdentity);
      },
      { rootPath: 'Docs' },
    ));
});
