import { appendFile, cp, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Cli } from '../../src/cli/cli.ts';
import { allCommands, examplesOf } from '../../src/cli/help.ts';
import { makeProgram } from '../../src/cli/program.ts';
import { makeCliDeps } from '../../src/main/cli-deps.ts';
import { createKey } from '../../src/operations/manage-keys.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { makeCliPlace, type CliPlace } from './cli-place.ts';

const config = fileURLToPath(new URL('../../config', import.meta.url));

/** The program as it is; nothing of it is run. */
const program = makeProgram(
  new Cli(
    makeCliDeps(
      () => {
        throw new Error('Help needs no settings.');
      },
      {
        stdout: () => undefined,
        stderr: () => undefined,
        outIsTerminal: false,
        isTerminal: false,
        terminal: null,
        colours: { out: false, err: false },
        columns: 80,
      },
    ),
    [],
  ),
);

/** What a command is called on the command line, without the program's name. */
const commands = allCommands(program)
  .filter((command) => command !== program && command.commands.length === 0)
  .map((command) => {
    const path = [command.name()];
    for (let above = command.parent; above !== null && above !== program; above = above.parent)
      path.unshift(above.name());
    return { command, path };
  })
  .filter(({ path }) => path[0] !== 'complete');

describe('help', () => {
  it.each(commands)(
    'of $path is on stdout, with examples and exit codes, and needs no settings',
    async ({ path, command }) => {
      await using place = await makeCliPlace(null, { PORT: 'wrong' });
      const { code, out, err } = await place.run(...path, '--help');
      expect({ code, err }).toEqual({ code: 0, err: '' });
      expect(examplesOf(command).length).toBeGreaterThan(0);
      for (const example of examplesOf(command)) {
        expect(example.startsWith(path.join(' '))).toBe(true);
        expect(out).toContain(`\n  $ npx agent-knowledge ${example}\n`);
      }
      expect(out).toMatch(/\nExit codes: 0 .*64 wrong usage\.\n/);
    },
  );

  it('of the whole lists every command in its group, and not what only a shell asks', async () => {
    await using place = await makeCliPlace(null, { PORT: 'wrong' });
    const { code, out } = await place.run('--help');
    expect(code).toBe(0);
    for (const { path } of commands) expect(out).toContain(`\n  ${path[0]}`);
    const headings = [...out.matchAll(/^([A-Z][a-z ]+):$/gm)].map(([, heading]) => heading);
    expect(headings).toEqual(['Options', 'Run', 'Read', 'Change', 'Check', 'Sign in', 'More', 'Examples']);
    expect(out).not.toContain('\n  complete');
  });

  it('has the bold headings of a terminal, and none where colours are not wanted', async () => {
    await using place = await makeCliPlace(null);
    expect((await place.runOn(80, '--help')).out).toContain('\u001b[1mRun:\u001b[22m');
    expect((await place.runOn(80, '--help', '--no-color')).out).not.toContain('\u001b');
  });
});

/** They run until they are stopped; `test/journeys` starts them. */
const longRunning = ['start', 'serve', 'daemon', 'fake-graph'];

/** What the examples come to where it is not 0: there is no daemon here, nor anybody who receives notices. */
const otherCodes: Readonly<Record<string, readonly number[]>> = {
  plan: [0, 2],
  doctor: [0, 1],
  webhook: [0, 1],
};

describe('an example in the help', () => {
  const cwd = process.cwd();
  let database: TestDatabase;
  let place: CliPlace;

  beforeAll(async () => {
    database = await createTestDatabase();
    place = await makeCliPlace(database, {
      LOCAL_PATH: 'knowledge',
      REGISTRY_PATH: join(config, 'agent_knowledge_registry.json'),
      DATABASE_ADMIN_URL: database.superuserUrl,
      DATA_DIR: 'data',
    });
    const knowledge = join(place.folder, 'knowledge');
    await cp(join(config, 'sample'), knowledge, { recursive: true });
    // As in a clone, where paths in examples begin.
    await symlink(config, join(place.folder, 'config'));
    process.chdir(place.folder);
    // Two versions, as after the edit that the banner suggests.
    expect(await place.run('refresh', 'intake_triage')).toMatchObject({ code: 0 });
    await appendFile(join(knowledge, '00 Shared Agent Knowledge/NUMU_CORE_SKILL.md'), '\nOne more rule.\n');
    expect(await place.run('refresh', 'intake_triage')).toMatchObject({ code: 0 });
    const [revoked = ''] = commands
      .filter(({ path }) => path.join(' ') === 'keys revoke')
      .flatMap(({ command }) => examplesOf(command));
    const request = { name: 'old', scopes: ['admin'], agents: null, environments: null, expiresAt: null };
    const keyId = revoked.split(' ').at(-1) ?? '';
    await createKey(database.context(), request, { keyId, secret: 'x'.repeat(43) });
  });

  afterAll(async () => {
    process.chdir(cwd);
    await place[Symbol.asyncDispose]();
    await database[Symbol.asyncDispose]();
  });

  const examples = [
    ...examplesOf(program),
    ...commands
      .filter(({ path }) => !longRunning.includes(path[0] ?? ''))
      .flatMap(({ command }) => examplesOf(command)),
  ];

  it.each(examples)('works as pasted: %s', async (example) => {
    const words = wordsOf(example);
    const { code, out, err } = await place.run(...words);
    expect(otherCodes[words[0] ?? ''] ?? [0], out + err).toContain(code);
    if (code === 0) expect(out).not.toBe('');
    if (words.includes('--json')) expect(JSON.parse(out)).toBeTypeOf('object');
  });

  it('control: one with an option that is not there is caught', async () => {
    expect(await place.run(...wordsOf('refresh intake_triage --wiat 60'))).toMatchObject({
      code: 64,
      out: '',
    });
  });
});

/** As a shell takes them: blanks part words, except in double quotes. */
function wordsOf(example: string): string[] {
  return [...example.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? '');
}
