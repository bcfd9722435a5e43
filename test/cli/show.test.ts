import { execFile } from 'node:child_process';
import { mkdir, readFile, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { document, file } from '../support/registry-documents.ts';
import { core, makeCliPlace, notes, rules, usualAgent } from './cli-place.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database[Symbol.asyncDispose]());

const run = promisify(execFile);

describe('show', () => {
  it('prints the active version and its manifest, and an earlier one by its name', async () => {
    await using place = await makeCliPlace(database);
    await place.run('refresh', place.agentKey);
    await place.put(notes, 'A note.\n');
    await place.run('refresh', place.agentKey);
    const { code, out } = await place.run('show', place.agentKey);
    expect(code).toBe(0);
    expect(out).toContain(`${place.agentKey} (production) v2, active\n`);
    expect(out).toMatch(/\n {4}3 {2}no {12}8 {2}[0-9a-f]{64} {2}Triage\/notes\.md\n$/);
    expect((await place.run('show', place.agentKey, 'v1')).out).toContain(' v1, not active\n');

    const { body } = await place.json('show', place.agentKey, 'v1');
    expect(body).toMatchObject({
      knowledgeVersion: 'v1',
      status: 'superseded',
      fileCount: 2,
      files: [
        { relativePath: core, loadOrder: 1, required: true, sizeBytes: 16, checksum: expect.any(String) },
        { relativePath: rules, loadOrder: 2 },
      ],
    });
  });

  it('names the command that helps where there is no such version, or none that is active', async () => {
    await using place = await makeCliPlace(database);
    await place.run('refresh', place.agentKey, '--env', 'dev');
    for (const [environment, words] of [
      [
        'production',
        `It has no version yet: "npx agent-knowledge refresh ${place.agentKey} --env production"`,
      ],
      ['dev', `The newest is v1; "npx agent-knowledge versions ${place.agentKey} --env dev" lists them all.`],
    ] as const) {
      const { code, out, err } = await place.run('show', place.agentKey, 'v7', '--env', environment);
      expect({ code, out }).toEqual({ code: 1, out: '' });
      expect(err).toMatch(/^agent-knowledge: [^\n]+\n$/);
      expect(err).toContain(words);
    }
  });
});

describe('show --out', () => {
  it('writes the exact files, which the real sha256sum checks without our help', async () => {
    await using place = await makeCliPlace(database);
    const odd = 'Triage/ملاحظات café.md';
    await place.putRegistry(
      document({ [place.agentKey]: usualAgent({ files: [file(odd, 1), file(core, 2), file(rules, 9)] }) }),
    );
    await place.put(odd, '\ufeffwith a mark\r\nand no end');
    await place.run('refresh', place.agentKey);
    const out = join(place.folder, 'new', 'folder');
    const { code, body } = await place.json('show', place.agentKey, 'v1', '--out', out);
    expect(code).toBe(0);
    expect(await readFile(join(out, odd))).toEqual(await readFile(join(place.root, odd)));
    await expect(run('sha256sum', ['--strict', '-c', 'SHA256SUMS'], { cwd: out })).resolves.toBeDefined();
    const { stdout } = await run('sha256sum', ['SHA256SUMS'], { cwd: out });
    expect(stdout).toBe(`${String(body['checksum'])}  SHA256SUMS\n`);
  });

  it('overwrites nothing, says what is in the way, and has written nothing then', async () => {
    await using place = await makeCliPlace(database);
    await place.run('refresh', place.agentKey);
    const out = join(place.folder, 'out');
    await mkdir(join(out, 'Triage'), { recursive: true });
    await writeFile(join(out, rules), 'mine');
    const { code, out: shown, err } = await place.run('show', place.agentKey, '--out', out);
    expect({ code, shown }).toEqual({ code: 1, shown: '' });
    expect(err).toContain(`"${join(out, rules)}" exists already`);
    expect(await readdir(out)).toEqual(['Triage']);
    expect(await readFile(join(out, rules), 'utf8')).toBe('mine');
  });

  it('follows no link out of the folder', async () => {
    await using place = await makeCliPlace(database);
    await place.run('refresh', place.agentKey);
    const [out, outside] = [join(place.folder, 'out'), join(place.folder, 'outside')];
    await mkdir(out);
    await mkdir(outside);
    await symlink(outside, join(out, 'Shared'));
    const { code, err } = await place.run('show', place.agentKey, '--out', out);
    expect(code).toBe(1);
    expect(err).toContain(`"${join(out, 'Shared')}" is no folder`);
    expect(await readdir(outside)).toEqual([]);
    expect(await readdir(out)).toEqual(['Shared']);
  });

  it('does not take a dangling link for a free place', async () => {
    await using place = await makeCliPlace(database);
    await place.run('refresh', place.agentKey);
    const out = join(place.folder, 'out');
    await mkdir(out);
    await symlink(join(place.folder, 'made.md'), join(out, 'SHA256SUMS'));
    expect((await place.run('show', place.agentKey, '--out', out)).code).toBe(1);
    expect(await readdir(place.folder)).not.toContain('made.md');
  });

  it('refuses a package that has a SHA256SUMS of its own, rather than mixing the two up', async () => {
    await using place = await makeCliPlace(database);
    await place.putRegistry(
      document({ [place.agentKey]: usualAgent({ files: [file(core, 1), file('sha256sums', 2)] }) }),
    );
    await place.put('sha256sums', 'x');
    await place.run('refresh', place.agentKey);
    const { code, err } = await place.run('show', place.agentKey, '--out', join(place.folder, 'out'));
    expect(code).toBe(1);
    expect(err).toContain('a file "sha256sums" of its own');
  });

  it('says in one line that the place is no folder', async () => {
    await using place = await makeCliPlace(database);
    await place.run('refresh', place.agentKey);
    const { code, err } = await place.run('show', place.agentKey, '--out', place.registryPath);
    expect(code).toBe(1);
    expect(err).toMatch(/^agent-knowledge: [^\n]+registry\.json[^\n]* is no folder[^\n]*\n$/);
  });

  it('ends in words where no folder can be made, be it below /proc, below a file or nowhere', async () => {
    await using place = await makeCliPlace(database);
    await place.run('refresh', place.agentKey);
    for (const [out, words] of [
      ['/proc/nothing/deep', 'cannot be made'],
      [join(place.registryPath, 'x/y'), 'is no folder'],
      ['', 'must name a folder'],
    ] as const) {
      const { code, err } = await place.run('show', place.agentKey, '--out', out);
      expect(code).not.toBe(0);
      expect(err).toMatch(new RegExp(`^agent-knowledge: [^\\n]*${words}[^\\n]*\\n(?:Usage: [^\\n]+\\n)?$`));
    }
  });
});
