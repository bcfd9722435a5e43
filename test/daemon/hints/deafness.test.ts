import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Deafness } from '../../../daemon/hints/deafness.ts';
import { isBehindLink } from '../../../daemon/hints/watch-targets.ts';

/** A judge of one file, told of changes at these seconds and of events at those. */
function judged(changes: readonly number[], events: readonly number[], until: number) {
  const deafness = new Deafness();
  deafness.compare(['/k/a.md']);
  const answers: { heard: boolean; deaf: boolean }[] = [];
  for (let second = 1; second <= until; second += 1) {
    if (events.includes(second)) deafness.heard('/k/a.md', second * 1000);
    if (changes.includes(second)) deafness.found('/k/a.md', (second - 1) * 1000, second * 1000);
    answers.push(deafness.judge(second * 1000));
  }
  return { deaf: answers.some(({ deaf }) => deaf), heard: answers.some(({ heard }) => heard) };
}

test.each([
  ['each change has its event', [2, 10, 20], [2, 10, 20], { deaf: false, heard: true }],
  ['the event comes a moment after the sweep', [2, 10, 20], [3, 11, 21], { deaf: false, heard: true }],
  ['two changes have no event', [2, 10], [], { deaf: false, heard: false }],
  ['three have none', [2, 10, 20], [], { deaf: true, heard: false }],
  ['the events belong to something before', [5, 10, 20], [3, 8, 18], { deaf: true, heard: false }],
  ['the third comes more than ten minutes after the first', [2, 10, 700], [], { deaf: false, heard: false }],
])('a watcher is judged right where %s', (_, changes, events, wanted) => {
  expect(judged(changes, events, 710)).toEqual(wanted);
});

test('a file is known in every spelling that a system may use for it (W19, W20)', () => {
  const deafness = new Deafness();
  deafness.compare(['/k/Müller.md'.normalize('NFC')]);
  for (const at of [1000, 2000, 3000]) {
    deafness.found('/k/Müller.md'.normalize('NFC'), at - 500, at);
    deafness.heard('/k/MÜLLER.MD'.normalize('NFD'), at);
    expect(deafness.judge(at + 10_000)).toEqual({ heard: true, deaf: false });
  }
});

test('events at other files are not remembered, however many there are', () => {
  const deafness = new Deafness();
  deafness.compare(['/k/a.md']);
  deafness.heard('/k/other.md', 900);
  for (const at of [1000, 1001, 1002]) deafness.found('/k/a.md', 500, at);
  expect(deafness.judge(10_000)).toEqual({ heard: false, deaf: true });
});

test('a file behind a link is told from a plain one, for its changes come without events', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'ak-link-'));
  try {
    await mkdir(join(folder, 'v2'));
    await writeFile(join(folder, 'v2/a.md'), 'a');
    await symlink('v2', join(folder, 'now'));
    await symlink('v2/a.md', join(folder, 'a.md'));
    const behind = async (path: string) => isBehindLink(folder, join(folder, path));
    expect(await behind('v2/a.md')).toBe(false);
    expect(await behind('now/a.md')).toBe(true);
    expect(await behind('a.md')).toBe(true);
    expect(await behind('absent.md')).toBe(false);
  } finally {
    await rm(folder, { recursive: true });
  }
});
