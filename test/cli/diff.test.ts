import { execFile } from 'node:child_process';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import { applyPatch } from 'diff';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { loadVersion, type TestFiles } from '../support/knowledge.ts';
import { entry } from '../support/processes.ts';
import { makeCliPlace, type CliPlace } from './cli-place.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database[Symbol.asyncDispose]());

const run = promisify(execFile);

/** What a terminal would obey, what cannot be seen, and both kinds of line ends. */
const hostile = 'a\u001b[31mred\u001b]0;title\u0007 \u009b2J\u2028\u00ad\ttab\r\n';
const before = {
  'Shared/kept.md': 'kept\n',
  'Triage/قواعد و أخرى.md': `\ufeff# Rules\r\n${hostile}Ask first.`,
  'Triage/old name.md': 'the same\n',
  'Triage/gone.md': 'gone\n',
};
const after = {
  'Triage/قواعد و أخرى.md': `\ufeff# Rules\r\n${hostile}Ask twice.\r\n${hostile}`,
  'Shared/kept.md': 'kept\n',
  'Triage/new name.md': 'the same\n',
  'Triage/come.md': `come ${hostile}`,
};

/** A command line whose agent has these versions. */
async function placeWith(...versions: readonly TestFiles[]): Promise<CliPlace> {
  const place = await makeCliPlace(database);
  for (const files of versions) await loadVersion(database, { agentKey: place.agentKey, files });
  return place;
}

/** The settings of the program as a process of its own. */
function processEnvironment(extra: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const { FORCE_COLOR: _, NO_COLOR: __, ...others } = process.env;
  return { ...others, TERM: 'xterm', AGENT_KNOWLEDGE_DATABASE_URL: database.applicationUrl, ...extra };
}

describe('diff', () => {
  it('says which files differ and how, and ends with 0 whether or not any does', async () => {
    await using place = await placeWith(
      { 'a.md': '1\n2\n3\n', 'b.md': 'b\n' },
      { 'b.md': 'b\n', 'a.md': '1\n2\nthree\nfour\n' },
    );
    const { code, out, err } = await place.run('diff', place.agentKey, 'v1', 'v2');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toBe(
      `${place.agentKey} (production): from v1 to v2
  changed a.md  +2 -1
  reordered files that both have

--- a/a.md\tv1
+++ b/a.md\tv2
@@ -1,3 +1,4 @@
 1
 2
-3
+three
+four
`,
    );
    const back = await place.run('diff', place.agentKey, 'v2', 'v1', '--stat');
    expect(back.out).toContain('from v2 to v1\n  changed a.md  +1 -2\n');
    expect(back.out).not.toContain('@@');
    const none = await place.run('diff', place.agentKey, 'v2', 'v2');
    expect(none).toEqual({
      code: 0,
      err: '',
      out: `${place.agentKey} (production): v2 and v2 hold the same.\n`,
    });
  });

  it('gives all of it as JSON', async () => {
    await using place = await placeWith(before, after);
    const { code, body } = await place.json('diff', place.agentKey, 'v1', 'v2');
    expect(code).toBe(0);
    const { changed, ...rest } = body as { changed: { unified: string }[] };
    const shape = { loadOrder: expect.any(Number), required: true, sizeBytes: expect.any(Number) };
    const checksum = expect.stringMatching(/^[0-9a-f]{64}$/);
    expect(rest).toEqual({
      agentKey: place.agentKey,
      environment: 'production',
      from: 'v1',
      to: 'v2',
      added: [{ relativePath: 'Triage/come.md', checksum, ...shape }],
      removed: [{ relativePath: 'Triage/gone.md', checksum, ...shape }],
      renamed: [{ from: 'Triage/old name.md', to: 'Triage/new name.md', checksum }],
      reordered: true,
    });
    const path = 'Triage/قواعد و أخرى.md';
    expect(changed).toMatchObject([
      { relativePath: path, before: { loadOrder: 2 }, after: { loadOrder: 1 } },
    ]);
    expect(applyPatch(before[path], changed[0]!.unified)).toBe(after[path]);
    expect((await place.json('diff', place.agentKey, 'v2', 'v2')).body).toMatchObject({
      added: [],
      removed: [],
      changed: [],
      renamed: [],
      reordered: false,
    });
  });

  it('names the version that is not there, and refuses what is no version', async () => {
    await using place = await placeWith(before);
    const missing = await place.run('diff', place.agentKey, 'v1', 'v7');
    expect({ code: missing.code, out: missing.out }).toEqual({ code: 1, out: '' });
    expect(missing.err).toContain('has no version "v7"');
    const wrong = await place.run('diff', place.agentKey, 'v1', '2');
    expect({ code: wrong.code, out: wrong.out }).toEqual({ code: 64, out: '' });
  });
});

describe('diff into a pipe', () => {
  it('is a patch with which git apply and patch -p1 make the one version of the other, byte for byte', async () => {
    await using place = await placeWith(before, after);
    const { stdout } = await run(process.execPath, [entry, 'diff', place.agentKey, 'v1', 'v2'], {
      encoding: 'buffer',
      env: processEnvironment(),
    });
    const patch = join(place.folder, 'v1-v2.patch');
    await writeFile(patch, stdout);
    const env = { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' };
    for (const [program, ...words] of [
      ['git', 'apply', '--whitespace=nowarn', patch],
      ['patch', '-p1', '-i', patch],
    ] as const) {
      const cwd = join(place.folder, program);
      await place.run('show', place.agentKey, 'v1', '--out', cwd);
      await run(program, words, { cwd, env });
      expect(await readFiles(cwd)).toEqual(after);
    }
  });
});

/** Every file below a folder but for its SHA256SUMS. */
async function readFiles(folder: string): Promise<Record<string, string>> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = found.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  const files = paths.map(async (path) => [relative(folder, path), await readFile(path, 'utf8')] as const);
  const { SHA256SUMS: _, ...rest } = Object.fromEntries(await Promise.all(files));
  return rest;
}

/** Everything that a terminal obeys or hides, but for line ends, tabs and the program's own colours. */
// oxlint-disable-next-line no-control-regex
const dangerous = /(?!\u001b\[\d+m)[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u2028\u202a-\u202e\ufeff]/u;

describe('diff on a terminal', () => {
  async function onTerminal(place: CliPlace): Promise<string> {
    const line = [process.execPath, entry, 'diff', place.agentKey, 'v1', 'v2'];
    const quoted = line.map((word) => `'${word}'`).join(' ');
    const { stdout } = await run('script', ['-qec', quoted, '/dev/null'], { env: processEnvironment() });
    // The terminal's own line ends.
    return stdout.replaceAll('\r\n', '\n');
  }

  it('is coloured, and shows what a file holds without obeying it', async () => {
    await using place = await placeWith(before, after);
    const shown = await onTerminal(place);
    expect(shown).toContain('\u001b[32m+Ask twice.\\u000d\u001b[39m\n');
    expect(shown).toContain('\u001b[31m-Ask first.\u001b[39m\n');
    expect(shown).toContain('a\\u001b[31mred\\u001b]0;title\\u0007 \\u009b2J\\u2028\\u00ad\ttab\\u000d');
    expect(shown).not.toMatch(dangerous);
  });

  it('would be caught at showing a file as it is', async () => {
    await using place = await placeWith(before, after);
    expect((await place.run('diff', place.agentKey, 'v1', 'v2')).out).toMatch(dangerous);
  });
});
