import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newKeyMaterial } from '../../src/main/key-material.ts';
import { createKey, withdrawKey } from '../../src/operations/manage-keys.ts';
import { streamLimits } from '../../src/operations/follow-knowledge.ts';
import { openStream } from '../support/event-stream.ts';
import { Deployment, type ApiProcess } from '../support/deployment.ts';
import { projectRoot } from '../support/docs/clone.ts';
import { examples, findPython, runExample } from '../support/docs/example.ts';
import { startMeddler } from '../support/docs/meddler.ts';

/*
 * The examples against a real API and a real daemon: what connect-a-runtime.md says that a runtime owes its agent.
 */

const long = process.env['AGENT_KNOWLEDGE_TEST_LONG'] === '1';

// The second language tells nothing more of the product: in the long form, where httpx is there.
const python = long ? findPython(['-c', 'import httpx']) : null;
const anyPython = findPython(['--version']);

let deployment: Deployment;
let api: ApiProcess;
beforeAll(async () => {
  deployment = await Deployment.open(['triage'], { AGENT_KNOWLEDGE_AUTH: 'required' });
  [api] = await Promise.all([deployment.startApi(), deployment.startDaemon()]);
});
afterAll(() => deployment?.[Symbol.asyncDispose]());

/** A key of its own, and the variables of an example that uses it. */
async function prepare() {
  const bounds = { agents: null, environments: null, expiresAt: null };
  const request = { name: 'example', scopes: ['knowledge:read'], ...bounds };
  const { key, keyId } = await createKey(deployment.database.context(), request, newKeyMaterial());
  const file = join(deployment.folder, `key-${keyId}`);
  await writeFile(file, `${key}\n`);
  return { key, keyId, env: { KNOWLEDGE_KEY_FILE: file, KNOWLEDGE_AGENT: 'triage' } };
}

describe.each([
  { name: 'runtime.ts', command: examples.typescript },
  ...(python === null ? [] : [{ name: 'runtime.py', command: [python, ...examples.python] }]),
])('$name', ({ command }) => {
  test('gives its model what is saved, goes on where it was after the server was killed, and ends with Ctrl-C', async () => {
    const { env } = await prepare();
    const url = `${api.base}/graphql`;
    await using runtime = runExample(command, { ...env, KNOWLEDGE_URL: url });
    await runtime.until(/The model gets v\d+ .*\n {2}triage\/a.md\n {2}triage\/b.md\n/);
    await deployment.save('triage', 'second');
    await runtime.until(/Changed: .*"LOADED"/);
    await runtime.until(/The model gets v/);

    await api.command.end('SIGKILL');
    await runtime.until(/v\d+ stays in use, current \d+ s ago/);
    await deployment.save('triage', 'third');
    api = await deployment.startApi({ AGENT_KNOWLEDGE_PORT: new URL(url).port });
    await runtime.until(/The model gets v/);
    // Resumed behind the last id: it is told of what happened meanwhile, too.
    await runtime.until(/Changed: .*"LOADED"/);
    expect(await runtime.interrupt()).toBe(0);
  }, 120_000);

  test('keeps its copy from what arrives damaged, begins anew on RESET, and stops when its key is revoked', async () => {
    const { keyId, env } = await prepare();
    await using network = await startMeddler(() => api.base);
    await using runtime = runExample(command, { ...env, KNOWLEDGE_URL: `${network.url}/graphql` });
    await runtime.until(/The model gets v/);

    network.placeInstead = '999999';
    network.cut();
    await runtime.until(/v\d+ stays in use, .*Cannot go on after 999999/);
    // The control of the checksums: one letter is another one.
    network.alter = ['fourth', 'f0urth'];
    await deployment.save('triage', 'fourth');
    await runtime.until(/v\d+ stays in use, .*arrived damaged/);
    network.alter = null;
    await runtime.until(/The model gets v/);
    expect(network.places).toEqual([expect.stringMatching(/^[0-9]+$/)]);

    await withdrawKey(deployment.database.context(), keyId);
    await runtime.until(/Do not run the agent: /);
    expect(await runtime.interrupt()).toBe(0);
  }, 120_000);

  test('says why when the server lets it open no stream', async () => {
    const { key, env } = await prepare();
    await using streams = new AsyncDisposableStack();
    for (let open = 0; open < streamLimits.perCredential; open += 1) {
      streams.use(await openStream({ url: api.base, key }));
    }
    await using runtime = runExample(command, { ...env, KNOWLEDGE_URL: `${api.base}/graphql` });
    await runtime.until(/Do not run the agent: One key keeps at most 10 streams open/);
    await streams.disposeAsync();
    await runtime.until(/The model gets v/);
    expect(await runtime.interrupt()).toBe(0);
  }, 60_000);

  test('does not run an agent that is not there', async () => {
    const { env } = await prepare();
    await using runtime = runExample(command, {
      ...env,
      KNOWLEDGE_URL: `${api.base}/graphql`,
      KNOWLEDGE_AGENT: 'nobody',
    });
    await runtime.until(/Do not run the agent: No agent "nobody"/);
    expect(await runtime.interrupt()).toBe(0);
  }, 60_000);
});

if (long)
  test('control: a runtime that checks no checksum and says no place is seen to take damage and to begin anew', async () => {
    const source = await readFile(join(projectRoot, 'docs/examples/runtime.ts'), 'utf8');
    const careless = source
      .replace('check(activeVersion);', '')
      .replace("...(lastEventId && { 'last-event-id': lastEventId })", '');
    expect(careless.length).toBeLessThan(source.length - 60);
    const program = join(deployment.folder, 'careless.mts');
    await writeFile(program, careless);
    const { env } = await prepare();
    await using network = await startMeddler(() => api.base);
    const url = `${network.url}/graphql`;
    await using runtime = runExample([process.execPath, program], { ...env, KNOWLEDGE_URL: url });
    await runtime.until(/The model gets v/);
    network.alter = ['fifth', 'f1fth'];
    await deployment.save('triage', 'fifth');
    await runtime.until(/The model gets v/);
    network.cut();
    await runtime.until(/v\d+ stays in use/);
    await deployment.save('triage', 'sixth');
    await runtime.until(/The model gets v/);
    expect(runtime.said()).not.toContain('damaged');
    expect(network.places).toEqual([]);
  }, 60_000);

if (anyPython !== null)
  test('runtime.py is Python', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'ak-python-'));
    const compile = 'import py_compile, sys; py_compile.compile(sys.argv[1], sys.argv[2], doraise=True)';
    const words = ['-c', compile, join(projectRoot, 'docs/examples/runtime.py'), join(folder, 'runtime.pyc')];
    const { status, stderr } = spawnSync(anyPython ?? '', words, { encoding: 'utf8' });
    await rm(folder, { recursive: true });
    expect(stderr).toBe('');
    expect(status).toBe(0);
  });
