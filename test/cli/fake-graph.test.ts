import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCommand, runToEnd } from '../support/processes.ts';

/*
 * `fake-graph` as a process: anybody can try the source `graph` without a tenant.
 */

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ak-fake-command-'));
  await writeFile(join(folder, 'rules.md'), '# Rules\n');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('fake-graph', () => {
  it('prints settings that can be pasted, serves the folder until it is stopped, and says what it is', async () => {
    await using fake = runCommand([
      'fake-graph',
      '--root',
      folder,
      '--port',
      '0',
      '--token',
      "it's $(a try)",
    ]);
    await fake.until(/export AGENT_KNOWLEDGE_GRAPH_TOKEN=/);
    // As a shell takes them, whatever they hold.
    const read = `${fake.stdout()}\nenv`;
    const { stdout } = spawnSync('sh', ['-c', read], { encoding: 'utf8' });
    const settings = Object.fromEntries(
      [...stdout.matchAll(/^(AGENT_\w+)=(.*)$/gm)].map(([, name, value]) => [name, value]),
    );
    expect(settings['AGENT_KNOWLEDGE_SOURCE']).toBe('graph');
    const url = `${settings['AGENT_KNOWLEDGE_GRAPH_BASE_URL']}/v1.0/drives/${settings['AGENT_KNOWLEDGE_GRAPH_DRIVE_ID']}`;
    const answer = await fetch(`${url}/root:/rules.md`, {
      headers: { authorization: `Bearer ${settings['AGENT_KNOWLEDGE_GRAPH_TOKEN']}` },
    });
    expect(await answer.json()).toMatchObject({ name: 'rules.md', size: 8 });
    expect((await fetch(url)).status).toBe(401);
    expect(fake.stderr()).toContain('A stand-in for Microsoft Graph');
    expect(await fake.end()).toBe(0);
  });

  it('runs a command with the settings that lead to it, and ends with its exit code', async () => {
    const script = `const { AGENT_KNOWLEDGE_SOURCE: source, NODE_EXTRA_CA_CERTS: ca, AGENT_KNOWLEDGE_GRAPH_BASE_URL: url } = process.env;
      setTimeout(async () => {
        const { status } = await fetch(url + '/v1.0/none');
        console.log(source, ca, status);
        process.exitCode = 7;
      }, 300)`;
    const certificate = join(folder, '..', `${Date.now()}-certificate.pem`);
    const { code, stdout } = await runToEnd(
      ['fake-graph', '--root', folder, '--port', '0', '--write-certificate', certificate].concat([
        '--',
        process.execPath,
        '-e',
        script,
      ]),
    );
    expect(code).toBe(7);
    expect(stdout).toMatch(new RegExp(`^export .*\ngraph ${certificate} 401\n$`, 's'));
    expect(await readFile(certificate, 'utf8')).toContain('BEGIN CERTIFICATE');
    await rm(certificate);
  });

  it.each([
    ['a folder that is not there', ['--root', '/nowhere/at/all'], /--root must be a folder/],
    ['a port that is none', ['--root', '.', '--port', '99999'], /Expected a port/],
    ['no folder', [], /--root/],
  ])('refuses %s in words', async (_, args, words) => {
    const { code, stderr } = await runToEnd(['fake-graph', ...args]);
    expect([code === 0, stderr]).toEqual([false, expect.stringMatching(words)]);
  });
});
