import { link, mkdir, realpath, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sha256 } from '../../src/core/checksum.ts';
import type { LocalLook } from '../../src/source/look-steps.ts';
import { openLocalSource, type LocalSource } from '../../src/source/local-source.ts';
import { openRootByPath } from '../../src/source/place-by-path.ts';
import { openRootByDescriptor } from '../../src/source/place.ts';
import { listed, lookHere, makeFolder, type Thing } from '../support/source-folder.ts';

const core = '00 Shared/CORE SKILL.md';
const prompts = 'AUTO-025 - Triage - v01/04 Prompts';
const index = `${prompts}/PROMPT_INDEX.md`;
const rules = `${prompts}/DECISION_RULES.md`;
const plain = { [`root/${core}`]: 'core\n', [`root/${index}`]: 'index\n', [`root/${rules}`]: 'rules\n' };
const nfc = 'Notes/café.md'.normalize('NFC');
const nfd = nfc.normalize('NFD');

/** What a look says, in short: a file's text, or the word for it; hints and notices by their code and path. */
function tell(look: LocalLook): unknown {
  if (look.root === 'trouble') return look.code;
  const files = look.files.map((file) => {
    if (file.state === 'present') return Buffer.from(file.content ?? []).toString();
    return file.state === 'refused'
      ? `refused: ${file.code}`
      : file.hints.map((hint) => [hint.code, hint.relativePath]);
  });
  return { files, notices: look.notices.map((notice) => [notice.code, notice.relativePath]) };
}

interface Case {
  readonly title: string;
  readonly things: Readonly<Record<string, Thing>>;
  readonly files: readonly string[];
  readonly told: unknown;
}

function reads(
  title: string,
  things: Case['things'],
  files: readonly string[],
  told: unknown[],
  notices: unknown[] = [],
): Case {
  return { title, things, files, told: { files: told, notices } };
}

/** One row per refresh case that is about reading: a*, e*, s*, and what lies between them. */
const cases: readonly Case[] = [
  reads('a plain package', plain, [core, index, rules], ['core\n', 'index\n', 'rules\n']),
  reads('files are answered in the order asked', plain, [rules, core], ['rules\n', 'core\n']),
  reads(
    'an absent file has no hints where nothing looks like it',
    plain,
    [core, `${prompts}/NOTE.md`],
    ['core\n', []],
  ),
  reads(
    'CRLF and a byte-order mark stay',
    { ...plain, [`root/${rules}`]: '\ufeffa\r\nb\r\n' },
    [rules],
    ['\ufeffa\r\nb\r\n'],
  ),
  reads('a right-to-left path', { 'root/معرفة/قواعد.md': 'نص' }, ['معرفة/قواعد.md'], ['نص']),
  reads('a listed name that looks like a copy', { 'root/P/Tier (1).md': 'one' }, ['P/Tier (1).md'], ['one']),
  reads(
    'a listed copy beside its listed original is no conflict',
    { 'root/P/Tier.md': 'zero', 'root/P/Tier (1).md': 'one', 'root/P/Tier-v2.md': 'two' },
    ['P/Tier.md', 'P/Tier (1).md'],
    ['zero', 'one'],
  ),
  reads('an empty file is present', { 'root/a.md': '' }, ['a.md'], ['']),
  reads('blanks are content', { 'root/a.md': ' \n\t \n' }, ['a.md'], [' \n\t \n']),
  reads(
    'a folder where the file should be',
    { 'root/a.md/inside.md': 'x' },
    ['a.md'],
    ['refused: not_regular_file'],
  ),
  reads('a file where a folder should be', { 'root/a': 'x' }, ['a/b.md'], [[]]),
  reads(
    'a link to an endless device',
    { 'root/a.md': { link: '/dev/zero' } },
    ['a.md'],
    ['refused: path_escapes_root'],
  ),
  reads(
    'a link to a file outside',
    { 'root/a.md': { link: '../secret.md' }, 'secret.md': 'CANARY' },
    ['a.md'],
    ['refused: path_escapes_root'],
  ),
  reads(
    'a folder link outside',
    { 'root/p': { link: '../outside' }, 'outside/a.md': 'CANARY' },
    ['p/a.md'],
    ['refused: path_escapes_root'],
  ),
  reads(
    'a link that leaves the root and comes back',
    { 'root/a.md': { link: '../root/b.md' }, 'root/b.md': 'b' },
    ['a.md'],
    ['refused: path_escapes_root'],
  ),
  reads(
    'a link to nothing',
    { 'root/a.md': { link: 'gone.md' }, 'root/b.md': 'b' },
    ['a.md', 'b.md'],
    [[['symlink_inside_root', 'a.md']], 'b'],
  ),
  reads(
    'a link to itself',
    { 'root/a.md': { link: 'a.md' }, 'root/b.md': 'b' },
    ['a.md'],
    [[['symlink_inside_root', 'a.md']]],
  ),
  reads(
    'links inside the root',
    {
      'root/current': { link: 'releases/3' },
      'root/releases/3/a.md': 'a',
      'root/x/y/b.md': { link: '../../releases/3/./a.md' },
    },
    ['current/a.md', 'x/y/b.md', 'releases/3/a.md'],
    ['a', 'a', 'a'],
    [
      ['symlink_inside_root', 'current/a.md'],
      ['symlink_inside_root', 'x/y/b.md'],
    ],
  ),
  reads(
    'a conflict copy with a machine name',
    { ...plain, [`root/${prompts}/DECISION_RULES-DESKTOP-7QK2ABC.md`]: 'other' },
    [core, index, rules],
    ['core\n', 'index\n', 'rules\n'],
    [['conflict_copy_present', `${prompts}/DECISION_RULES-DESKTOP-7QK2ABC.md`]],
  ),
  reads(
    'a safety copy of the Linux client',
    { ...plain, [`root/${prompts}/DECISION_RULES-opsbox-safeBackup-0001.md`]: 'other' },
    [rules],
    ['rules\n'],
    [['conflict_copy_present', `${prompts}/DECISION_RULES-opsbox-safeBackup-0001.md`]],
  ),
  reads(
    'only the conflict copy is left',
    { [`root/${prompts}/DECISION_RULES-opsbox-safeBackup-0001.md`]: 'other' },
    [rules],
    [[['conflict_copy_present', `${prompts}/DECISION_RULES-opsbox-safeBackup-0001.md`]]],
  ),
  reads(
    'a conflict copy that is a folder is none',
    { 'root/a.md': 'a', 'root/a (1).md/x': 'x' },
    ['a.md'],
    ['a'],
  ),
  reads(
    'only the letter case differs',
    { 'root/p/Decision_Rules.md': 'x' },
    ['p/DECISION_RULES.md'],
    [[['name_differs_by_case', 'p/Decision_Rules.md']]],
  ),
  reads(
    'the letter case of a folder differs',
    { 'root/Prompts/a.md': 'x' },
    ['prompts/a.md'],
    [[['name_differs_by_case', 'Prompts']]],
  ),
  reads(
    'the Unicode form differs',
    { [`root/${nfd}`]: 'x' },
    [nfc],
    [[['name_differs_by_unicode_form', nfd]]],
  ),
  { title: 'an empty root', things: { root: { folder: true } }, files: [core], told: 'root_empty' },
  { title: 'no root', things: {}, files: [core], told: 'root_missing' },
  { title: 'a file for a root', things: { root: 'x' }, files: [core], told: 'root_missing' },
  {
    title: 'a link to nothing for a root',
    things: { root: { link: 'gone' } },
    files: [core],
    told: 'root_missing',
  },
  {
    title: 'a root that is a link to a folder',
    things: { root: { link: 'real' }, 'real/a.md': 'a', 'real/b.md': { link: 'a.md' } },
    files: ['a.md'],
    told: { files: ['a'], notices: [] },
  },
  {
    title: 'a root without any listed file is not an empty one',
    things: { 'root/other.md': 'x' },
    files: ['a.md'],
    told: { files: [[]], notices: [] },
  },
];

describe('a look at a local folder', () => {
  describe.each([
    ['through /proc/self/fd', openRootByDescriptor],
    ['by checked paths', openRootByPath],
  ])('%s', (_, openRoot) => {
    it.each(cases)('$title', async ({ things, files, told }) => {
      await using folder = await makeFolder(things);
      expect(tell(await lookHere({ root: folder.root, files }, { openRoot }))).toEqual(told);
    });

    it('follows an absolute link that is spelled below the root, and no other', async () => {
      await using folder = await makeFolder({ 'real/b.md': 'b', 'real/sub/x': 'x', root: { link: 'real' } });
      const real = await realpath(folder.root);
      await symlink(join(real, 'b.md'), join(real, 'by-real-path.md'));
      await symlink(join(folder.root, 'b.md'), join(real, 'sub/by-link.md'));
      await symlink(`${real}/../real/b.md`, join(real, 'up-and-down.md'));
      await symlink(`${real}-other/b.md`, join(real, 'prefix-only.md'));
      const files = ['by-real-path.md', 'sub/by-link.md', 'up-and-down.md', 'prefix-only.md'];
      expect(tell(await lookHere({ root: folder.root, files }, { openRoot }))).toMatchObject({
        files: ['b', 'b', 'refused: path_escapes_root', 'refused: path_escapes_root'],
      });
    });

    it('follows forty links and not one more', async () => {
      const chain = Array.from({ length: 41 }, (_, at) => [`root/l${at}`, { link: `l${at + 1}` }] as const);
      await using folder = await makeFolder({ ...Object.fromEntries(chain), 'root/l41': 'end' });
      expect(tell(await lookHere({ root: folder.root, files: ['l1', 'l0'] }, { openRoot }))).toMatchObject({
        files: ['end', [['symlink_inside_root', 'l0']]],
      });
    });

    it('refuses spellings that the registry would never let through', async () => {
      await using folder = await makeFolder({ 'root/a.md': 'a', 'secret.md': 'CANARY' });
      const files = ['../secret.md', 'x/../../secret.md', './../secret.md', 'a.md\0', '//etc/passwd', ''];
      expect(tell(await lookHere({ root: folder.root, files }, { openRoot }))).toMatchObject({
        files: [
          'refused: path_escapes_root',
          [],
          'refused: path_escapes_root',
          [],
          [],
          'refused: not_regular_file',
        ],
      });
    });

    it('refuses a hard link, whose other name may lie outside the root', async () => {
      await using folder = await makeFolder({ 'root/b.md': 'b', 'secret.md': 'CANARY' });
      await link(join(folder.path, 'secret.md'), join(folder.root, 'a.md'));
      const look = await lookHere({ root: folder.root, files: ['a.md', 'b.md'] }, { openRoot });
      expect(tell(look)).toMatchObject({ files: ['refused: path_escapes_root', 'b'] });
    });
  });
});

describe('the source', () => {
  let source: LocalSource;
  let folder: Awaited<ReturnType<typeof makeFolder>>;
  const options = { withContent: true, maxFileBytes: 1_048_576 };

  beforeAll(async () => {
    folder = await makeFolder({ ...plain, 'root/big.md': Buffer.alloc(1_048_576, 'x') });
    source = openLocalSource({ root: folder.root });
  });
  afterAll(async () => {
    await source[Symbol.asyncDispose]();
    await folder[Symbol.asyncDispose]();
  });

  it('answers with exact bytes, their checksum and size', async () => {
    const look = await source.look(listed(core, 'big.md'), options);
    expect(look).toMatchObject({ root: 'present', notices: [] });
    const [first, big] = look.root === 'present' ? look.files : [];
    expect(first).toEqual({
      state: 'present',
      relativePath: core,
      checksum: sha256('core\n'),
      sizeBytes: 5,
      content: Uint8Array.from(Buffer.from('core\n')),
    });
    expect(big).toMatchObject({ state: 'present', sizeBytes: 1_048_576 });
  });

  it('answers with checksums alone when asked to', async () => {
    const look = await source.look(listed(core), { ...options, withContent: false });
    expect(look).toMatchObject({ files: [{ checksum: sha256('core\n'), sizeBytes: 5, content: null }] });
  });

  it('refuses one byte more than the limit, and takes the limit', async () => {
    const at = await source.look(listed(core), { ...options, maxFileBytes: 5 });
    expect(at).toMatchObject({ files: [{ state: 'present' }] });
    const over = await source.look(listed(core), { ...options, maxFileBytes: 4 });
    expect(over).toMatchObject({ files: [{ state: 'refused', code: 'too_large' }] });
  });

  it('names its type, and its root by device and inode', async () => {
    expect(source.type).toBe('local');
    const before = await source.look([], options);
    expect(before).toEqual({
      root: 'present',
      rootIdentity: expect.stringMatching(/^\d+:\d+$/),
      files: [],
      notices: [],
    });
    await rename(folder.root, join(folder.path, 'old'));
    await mkdir(folder.root);
    const emptied = await source.look(listed(core), options);
    expect(emptied).toMatchObject({ root: 'trouble', code: 'root_empty' });
    expect(emptied.rootIdentity).not.toBe(before.rootIdentity);
    await rm(folder.root, { recursive: true });
    expect(await source.look(listed(core), options)).toMatchObject({
      code: 'root_missing',
      rootIdentity: null,
    });
    await rename(join(folder.path, 'old'), folder.root);
    expect((await source.look(listed(core), options)).rootIdentity).toBe(before.rootIdentity);
  });

  it('has no memory: bytes, times and absence are read anew each time', async () => {
    const path = join(folder.root, rules);
    await utimes(path, 1e9, 1e9);
    await source.look(listed(rules), options);
    await writeFile(path, 'RULES\n');
    await utimes(path, 1e9, 1e9);
    expect(await source.look(listed(rules), options)).toMatchObject({
      files: [{ checksum: sha256('RULES\n') }],
    });
    await rm(path);
    expect(await source.look(listed(rules), options)).toMatchObject({ files: [{ state: 'absent' }] });
  });

  it('takes a conflict copy by the name of a known machine', async () => {
    await using other = await makeFolder({ 'root/a.md': 'a', 'root/a-filesrv.md': 'b' });
    await using knowing = openLocalSource({ root: other.root, hosts: ['filesrv'], limits: { readers: 1 } });
    expect(await knowing.look(listed('a.md'), options)).toMatchObject({
      notices: [{ code: 'conflict_copy_present', relativePath: 'a-filesrv.md' }],
    });
  });
});
