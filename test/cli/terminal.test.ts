import { stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { displayWidth } from '../../src/cli/output/printable.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { document } from '../support/registry-documents.ts';
import { runOnTerminal, screenOf } from '../support/terminal.ts';
import { makeCliPlace, rules, usualAgent, type CliPlace } from './cli-place.ts';

const isLong = process.env['AGENT_KNOWLEDGE_TEST_LONG'] === '1';

let database: TestDatabase;
let place: CliPlace;
let env: Readonly<Record<string, string>>;

beforeAll(async () => {
  database = await createTestDatabase();
  place = await makeCliPlace(database);
  await place.putRegistry(document({ first_agent: usualAgent(), second_agent: usualAgent() }));
  env = {
    AGENT_KNOWLEDGE_DATABASE_URL: database.applicationUrl,
    AGENT_KNOWLEDGE_LOCAL_PATH: place.root,
    AGENT_KNOWLEDGE_REGISTRY_PATH: place.registryPath,
    // Two seconds of stillness, in which the progress can be seen.
    AGENT_KNOWLEDGE_SETTLE: 'settled',
  };
});

afterAll(async () => {
  await place[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

const bar = /[█░]/;

/** What a program leaves switched off on a terminal: its cursor, or the wrapping of lines. */
function leftOff(shown: string): string[] {
  return ['25', '7'].filter((mode) => {
    const [off, on] = [`\u001b[?${mode}l`, `\u001b[?${mode}h`].map((escape) => shown.lastIndexOf(escape));
    return (off ?? -1) > (on ?? -1);
  });
}

describe('progress', () => {
  it('of a long refresh is shown on a terminal, and gone when it is done', async () => {
    await using run = runOnTerminal(['refresh', '--all'], { columns: 80, env });
    await run.until(/Refreshing .*0 of 2/);
    expect(await run.ended).toBe(0);
    expect(run.shown()).toMatch(/1 of 2, (?:first|second)_agent/);
    expect(screenOf(run.shown()).join('\n')).not.toMatch(bar);
    expect(screenOf(run.shown()).filter((line) => line !== '')).toEqual([
      'first_agent (production): loaded v1. v1 is active.',
      'second_agent (production): loaded v1. v1 is active.',
    ]);
    expect(leftOff(run.shown())).toEqual([]);
  });

  it('leaves a clean terminal after Ctrl-C, which ends the command', async () => {
    await place.put(rules, '# Rules\nAnother one.\n');
    await using run = runOnTerminal(['refresh', '--all'], { columns: 80, env });
    await run.until(/Refreshing .*0 of 2/);
    run.type('\u0003');
    expect(await run.ended).toBe(130);
    expect(screenOf(run.shown()).join('\n')).not.toMatch(bar);
    expect(leftOff(run.shown())).toEqual([]);
  });

  it('is not shown with --json, where stdout holds the one document', async () => {
    await using run = runOnTerminal(['refresh', 'first_agent', '--json'], { columns: 80, env });
    expect(await run.ended).toBe(0);
    expect(run.shown()).not.toMatch(bar);
    expect(JSON.parse(run.shown())).toMatchObject({ agentKey: 'first_agent' });
  });

  if (isLong)
    it('control: a command that is killed in the middle leaves its bar, and that is seen', async () => {
      await place.put(rules, `# Rules\n${Date.now()}\n`);
      await using run = runOnTerminal(['refresh', '--all'], { columns: 80, env });
      await run.until(/Refreshing .*0 of 2/);
      run.type('\u001c'); // SIGQUIT, which nobody catches.
      await run.ended;
      expect(screenOf(run.shown()).join('\n')).toMatch(bar);
    });
});

it('a table fits the terminal and has its colours, or none where they are not wanted', async () => {
  const shownOn = async (columns: number, settings: Readonly<Record<string, string>> = {}) => {
    await using run = runOnTerminal(['packages'], { columns, env: { ...env, ...settings } });
    expect(await run.ended).toBe(0);
    return run.shown();
  };
  const [narrow, plain] = await Promise.all([shownOn(40), shownOn(120, { NO_COLOR: '1' })]);
  expect(narrow).toContain('\u001b[32mv');
  const lines = stripVTControlCharacters(narrow).split(/\r?\n/);
  for (const line of lines.filter((text) => !text.startsWith('Not shown'))) {
    expect(displayWidth(line)).toBeLessThanOrEqual(40);
  }
  expect(lines.some((line) => /^first_agent +v\d/.test(line))).toBe(true);
  expect(stripVTControlCharacters(plain)).toBe(plain);
  expect(plain).toContain('LAST SUCCESS');
  expect(plain).toMatch(/ago|now/);
});
