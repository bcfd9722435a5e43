import { existsSync } from 'node:fs';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { entry } from '../support/processes.ts';
import { shellOnTerminal } from '../support/terminal.ts';
import { document } from '../support/registry-documents.ts';
import { makeCliPlace, usualAgent } from './cli-place.ts';

describe('what a shell asks', () => {
  it.each([
    [['ver'], ['versions']],
    [
      ['keys', ''],
      ['create', 'list', 'revoke', 'help'],
    ],
    [
      ['refresh', '--a'],
      ['--all', '--accept-shrink'],
    ],
    [['refresh', 'tri'], 'agent'],
    [['refresh', '--wait', '5', ''], 'agent'],
    [
      ['packages', '--env', ''],
      ['dev', 'staging', 'production'],
    ],
    [['promote', 'x', 'v1', '--from', 'st'], ['staging']],
    [['keys', 'create', '--environment', 'prod'], ['production']],
    [['keys', 'create', '--scope', 'know'], ['knowledge:read']],
    [
      ['completion', ''],
      ['bash', 'zsh', 'fish', 'powershell'],
    ],
    [['refresh', 'nobody'], []],
  ] as const)('%j is answered from files alone: %j', async (words, suggested) => {
    await using place = await makeCliPlace(null, { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' });
    const { code, out, err } = await place.run('complete', '--', ...words);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    const lines = out.trimEnd().split('\n').slice(0, -1);
    const found = lines.map((line) => line.split('\t')[0]);
    expect(found).toEqual(suggested === 'agent' ? [place.agentKey] : suggested);
  });

  it('is still answered with commands where settings and registry are wrong', async () => {
    await using place = await makeCliPlace(null, { PORT: 'wrong' });
    expect((await place.run('complete', '--', 'pack')).out).toMatch(/^packages\t/);
    expect((await place.run('complete', '--', 'show', '')).out.trim()).toBe(':4');
  });
});

it.each(['bash', 'zsh', 'fish', 'powershell'])('there is a script for %s', async (shell) => {
  await using place = await makeCliPlace(null);
  const { code, out } = await place.run('completion', shell);
  expect(code).toBe(0);
  expect(out).toMatch(/agent-knowledge complete '?--/);
});

it('a real bash completes a command, an agent and an environment at the press of a key, and runs nothing that was typed', async () => {
  await using place = await makeCliPlace(null);
  await place.putRegistry(document({ screening_call: usualAgent() }));
  const bin = await mkdtemp(join(tmpdir(), 'agent-knowledge-bin-'));
  await symlink(entry, join(bin, 'agent-knowledge'));
  const canary = join(bin, 'canary');
  await using shell = shellOnTerminal({
    PATH: `${bin}:${process.env['PATH']}`,
    AGENT_KNOWLEDGE_REGISTRY_PATH: place.registryPath,
  });
  // Twice, as whoever sources his .bashrc again; it must not complain.
  shell.type('for i in 1 2; do source <(agent-knowledge completion bash); done; echo read""y\n');
  const greeting = await shell.until(/ready/);
  expect(greeting).not.toMatch(/error|readonly|not found/);
  shell.type('echo agent-knowledge; agent-knowledge refr\t');
  await shell.until(/agent-knowledge refresh /);
  shell.type('scr\t');
  await shell.until(/refresh screening_call /);
  shell.type(`--env stag\t`);
  await shell.until(/--env staging /);
  shell.type(`$(touch$IFS${canary}) --al\t`);
  await shell.until(/--all /);
  expect(existsSync(canary)).toBe(false);
  await rm(bin, { recursive: true });
});
