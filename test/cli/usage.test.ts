import { describe, expect, it } from 'vitest';
import { makeCliPlace } from './cli-place.ts';

describe('a wrong command line', () => {
  it.each([
    [[], 'Usage:'],
    [['nonsense'], 'unknown command'],
    [['packages', 'extra'], 'too many arguments'],
    [['packages', '--nonsense'], 'unknown option'],
    [['plan'], 'missing required argument'],
    [['refresh'], 'name one agent, or say --all'],
    [['refresh', 'x', '--all'], 'name one agent, or say --all'],
    [['refresh', 'x', '--wait', '61'], 'from 0 to 60'],
    [['activate', 'x', '3'], 'a version such as v3'],
    [['activate', 'x', 'v3', '--expected', 'three'], 'a version such as v3'],
    [['versions', 'x', '--limit', '0'], 'from 1 on'],
    [['hold', 'x'], '--reason'],
    [['promote', 'x', 'v1', '--from', 'dev'], '--to'],
    [['keys'], 'Usage:'],
    [['keys', 'create', '--name', 'x'], '--scope'],
    [['keys', 'create', '--name', 'x', '--scope', 'admin', '--expires', '2020-01-01'], 'a date to come'],
    [['keys', 'create', '--name', 'x', '--scope', 'admin', '--expires', '2999-02-31'], 'a date to come'],
    [['registry'], 'Usage:'],
  ])('%j ends with 64 and says what was expected, on stderr alone', async (arguments_, words) => {
    await using place = await makeCliPlace(null);
    const { code, out, err } = await place.run(...arguments_);
    expect({ code, out }).toEqual({ code: 64, out: '' });
    expect(err).toContain(words);
    expect(err).not.toMatch(/\n\s+at .*:\d+:\d+/);
  });

  it('is told in one line and the usage of that very command, also with a control character in it (T54)', async () => {
    await using place = await makeCliPlace(null);
    const { err } = await place.run('refresh', '--non\u001b[2Jsense');
    expect(err).toMatch(/^agent-knowledge: [^\n]+\nUsage: agent-knowledge refresh [^\n]+\n$/);
    expect(err).not.toContain('\u001b');
  });
});

describe('a command that cannot be carried out', () => {
  it('lists every fault of the settings at once and ends with 1', async () => {
    await using place = await makeCliPlace(null, { PORT: 'wrong', SETTLE: 'slow' });
    const { code, out, err } = await place.run('packages');
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err.split('\n')).toEqual([
      expect.stringMatching(/^agent-knowledge: The settings have 2 faults:$/),
      expect.stringContaining('AGENT_KNOWLEDGE_SETTLE: found "slow"'),
      expect.stringContaining('AGENT_KNOWLEDGE_PORT: found "wrong"'),
      '',
    ]);
  });

  it('says in one line that there is no database, and names what starts one', async () => {
    await using place = await makeCliPlace(null);
    const { code, out, err } = await place.run('versions', 'x');
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toMatch(/^agent-knowledge: No database: .*"npm start".*\n$/);
  });

  it('says in one line that an environment is unknown, and which there are (G-11)', async () => {
    await using place = await makeCliPlace(null);
    const { code, err } = await place.run('packages', '--env', 'prod');
    expect(code).toBe(1);
    expect(err).toBe('agent-knowledge: No environment "prod"; there are dev, staging, production.\n');
  });
});
