import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Registry } from '../../src/core/package.ts';
import { proposeRegistry } from '../../src/core/propose-registry.ts';
import { accepted, codesOf, document, file } from '../support/registry-documents.ts';
import { lookHere, makeFolder, type TemporaryFolder, type Thing } from '../support/source-folder.ts';
import { makeCliPlace, type CliPlace } from './cli-place.ts';

const isLong = process.env['AGENT_KNOWLEDGE_TEST_LONG'] === '1';

async function propose(place: CliPlace, root: string): Promise<{ registry: Registry; err: string }> {
  const { code, out, err } = await place.run('doctor', '--root', root);
  expect(code).toBe(0);
  return { registry: accepted(out), err };
}

const pathsOf = (registry: Registry, agentKey: string): string[] =>
  registry.agents.get(agentKey)?.files.map((listed) => listed.relativePath) ?? [];

describe('doctor --root', () => {
  it('proposes an agent for each top-level folder, shared knowledge and overviews first', async () => {
    await using folder = await makeFolder({
      'root/00 Shared Knowledge/core.md': 'x',
      'root/01 Intake Triage/rule 10.md': 'x',
      'root/01 Intake Triage/rule 2.md': 'x',
      'root/01 Intake Triage/README.md': 'x',
      'root/01 Intake Triage/common/tone.md': 'x',
      'root/Émile/a.md': 'x',
      'root/emile/b.md': 'x',
      'root/メモ/c.md': 'x',
      'root/Pictures/a.png': 'x',
      'root/loose.md': 'x',
      'root/.obsidian/x.md': 'x',
    });
    await using place = await makeCliPlace(null);
    const { registry, err } = await propose(place, folder.root);
    expect([...registry.agents.keys()]).toEqual(['intake_triage', 'emile', 'emile_2', 'agent']);
    expect(pathsOf(registry, 'intake_triage')).toEqual([
      '00 Shared Knowledge/core.md',
      '01 Intake Triage/common/tone.md',
      '01 Intake Triage/README.md',
      '01 Intake Triage/rule 2.md',
      '01 Intake Triage/rule 10.md',
    ]);
    expect(pathsOf(registry, 'agent')).toEqual(['00 Shared Knowledge/core.md', 'メモ/c.md']);
    const [agent] = registry.agents.values();
    expect(agent).toMatchObject({ enabled: true, files: [{ loadOrder: 1, required: true }, {}, {}, {}, {}] });
    expect(err).toContain('left out: .obsidian is hidden.\n');
    expect(err).toContain('left out: loose.md lies in no top-level folder; list it where it belongs.\n');
  });

  it('proposes one agent for a flat folder, and one for shared knowledge alone', async () => {
    await using place = await makeCliPlace(null);
    await using flat = await makeFolder({ 'root/b.md': 'x', 'root/overview.md': 'x' });
    expect(pathsOf((await propose(place, flat.root)).registry, 'root')).toEqual(['overview.md', 'b.md']);
    await using shared = await makeFolder({ 'root/Shared/b.md': 'x' });
    expect(pathsOf((await propose(place, shared.root)).registry, 'shared')).toEqual(['Shared/b.md']);
  });

  it('exits with 1 and words where there is nothing to list, and where there is no folder', async () => {
    await using place = await makeCliPlace(null);
    await using folder = await makeFolder({ 'root/a.txt': 'x' });
    const nothing = await place.run('doctor', '--root', folder.root);
    expect(nothing).toMatchObject({ code: 1, out: '' });
    expect(nothing.err).toContain(`No Markdown file that a registry could list was found in ${folder.root}.`);
    const none = await place.run('doctor', '--root', join(folder.path, 'none'));
    expect(none).toMatchObject({ code: 1, out: '', err: expect.stringContaining('is not there') });
    expect(none.err).not.toMatch(/\n\s+at /);
  });

  it('stays within what a package and a registry may hold', () => {
    const many = (folder: string, count: number): { relativePath: string; sizeBytes: number }[] =>
      Array.from({ length: count }, (_, at) => ({
        relativePath: `${folder}/${at}.md`,
        sizeBytes: 1_000_000,
      }));
    const survey = { name: 'root', leftOut: [], notes: [] };
    const wide = proposeRegistry({ ...survey, files: many('Agent', 250) });
    expect(accepted(wide.document).agents.get('agent')?.files.length).toBe(200);
    expect(wide.notes).toEqual([
      'agent: 250 files, of which the first 200 are proposed; a package holds no more.',
      'agent: its files have 200000000 bytes; a package holds at most 16777216.',
    ]);
    const long = 'é'.repeat(120);
    const shared = many(`Shared/${long}`, 199);
    const agents = Array.from({ length: 100 }, (_, at) => many(`f${at}`, 1)).flat();
    const huge = proposeRegistry({ ...survey, files: [...shared, ...agents] });
    expect(accepted(huge.document).agents.size).toBeGreaterThan(10);
    expect(huge.notes.at(-1)).toContain('a registry of that many agents is no start.');
  });
});

/** Names as people, sync clients, editors and attackers make them. */
const name = fc.oneof(
  fc.constantFrom(
    'Shared',
    'shared',
    'README.md',
    'a.md',
    'A.md',
    'Café.md',
    'Cafe\u0301.md',
    'a (1).md',
    'Agent 1',
  ),
  fc.constantFrom(
    '~$a.md',
    '.a.md',
    'nul.md',
    'a:b.md',
    'a?.md',
    'a\\b.md',
    ' a.md',
    'a.md ',
    'a..md',
    '-',
    '%2e%2e',
  ),
  fc.constantFrom(
    'مشترك',
    'می\u200cخواهم.md',
    'a\u200b.md',
    'a\u202e.md',
    '❤️.md',
    'a\nb.md',
    'a\u0001.md',
    '\u0301.md',
  ),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }).map((text) => `${text}.md`),
  fc.string({ unit: 'binary', minLength: 1, maxLength: 8 }),
);
const thing: fc.Arbitrary<Thing> = fc.oneof(
  { weight: 5, arbitrary: fc.constant('text') },
  { weight: 1, arbitrary: fc.constantFrom('', 'x'.repeat(2000)) },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom('a.md', '..', '../a.md', '/nowhere/at/all', 'Shared')
      .map((to) => ({ link: to })),
  },
);
const tree = fc.array(fc.tuple(fc.array(name, { minLength: 1, maxLength: 4 }), thing), {
  minLength: 1,
  maxLength: 14,
});

async function grow(entries: readonly (readonly [readonly string[], Thing])[]): Promise<TemporaryFolder> {
  const folder = await makeFolder({ 'root/Agent/a.md': 'text' });
  for (const [names, what] of entries) {
    const safe = names.map((part) =>
      part
        .replaceAll(/[/\0]/g, '_')
        .replace(/^\.{1,2}$/, 'dots')
        .toWellFormed(),
    );
    // Two entries may want one name, as a file and as a folder.
    await folder.add(join('root', ...safe), what).catch(() => undefined);
  }
  return folder;
}

it('prints a registry that passes every rule and lists only what can be read, whatever the folder', async () => {
  await using place = await makeCliPlace(null, { MAX_FILE_SIZE: '1000' });
  const met = { listed: 0, leftOut: 0, naive: 0 };
  const check = async (entries: readonly (readonly [readonly string[], Thing])[]): Promise<void> => {
    await using folder = await grow(entries);
    const { registry, err } = await propose(place, folder.root);
    met.leftOut += err.split('\n').filter((line) => line.startsWith('left out: ')).length;
    for (const agent of registry.agents.values()) {
      const files = agent.files.map((listed) => listed.relativePath);
      met.listed += files.length;
      const look = await lookHere({ root: folder.root, files, maxFileBytes: 1000 });
      expect(look).toMatchObject({ root: 'present', files: files.map(() => ({ state: 'present' })) });
    }
    // CONTROL: to list what was named, as it was named, would not do.
    const all = entries.map(([names], at) => file(names.join('/'), at));
    if (
      codesOf(document({ agent: { ...document(), files: all } })).some((code) => code !== 'missing_field')
    ) {
      met.naive += 1;
    }
  };
  await fc.assert(fc.asyncProperty(tree, check), { numRuns: isLong ? 1000 : 60 });
  expect(Object.entries(met).filter(([, count]) => count < 10)).toEqual([]);
}, 240_000);
