import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Check } from '../../src/core/check.ts';
import { makeCertificate } from '../support/fake-graph/certificate.ts';
import { startFakeGraph, type FakeGraph } from '../support/fake-graph/fake-graph.ts';
import { entry } from '../support/processes.ts';
import { document } from '../support/registry-documents.ts';
import { makeFolder, type TemporaryFolder } from '../support/source-folder.ts';
import { core, rules, usualAgent } from './cli-place.ts';
import { isLong, unwell } from './doctor-place.ts';

let stack: AsyncDisposableStack;
let folder: TemporaryFolder;
let fake: FakeGraph;

beforeAll(async () => {
  stack = new AsyncDisposableStack();
  folder = stack.use(await makeFolder({ [`root/${core}`]: 'x', [`root/${rules}`]: 'y' }));
  fake = stack.use(await startFakeGraph({ root: folder.root, https: true }));
  await writeFile(join(folder.path, 'ca.pem'), fake.certificate ?? '');
  await writeFile(join(folder.path, 'registry.json'), JSON.stringify(document({ triage: usualAgent() })));
});
afterAll(() => stack.disposeAsync());

/** `doctor` as a process of its own, which trusts the drive's certificate from its start. */
async function examine(settings: Readonly<Record<string, string>> = {}) {
  const environment = {
    PATH: process.env['PATH'],
    NODE_EXTRA_CA_CERTS: join(folder.path, 'ca.pem'),
    AGENT_KNOWLEDGE_REGISTRY_PATH: join(folder.path, 'registry.json'),
    AGENT_KNOWLEDGE_DATA_DIR: join(folder.path, 'data'),
    ...fake.environment('app'),
    ...settings,
  };
  const told = await promisify(execFile)(process.execPath, [entry, 'doctor', '--json'], {
    cwd: folder.path,
    env: environment,
  }).catch((error: unknown) => error as { stdout: string; stderr: string });
  expect(told.stdout + told.stderr).not.toContain(fake.clientSecret);
  const { checks } = JSON.parse(told.stdout) as { checks: Check[] };
  const bad = unwell({ checks }).filter((line) => !line.includes(' database '));
  return { bad, found: checks.map((check) => check.found).join('\n'), checks };
}

it('doctor signs in as an application over https, and tells what the token may (P1)', async () => {
  const { bad, found } = await examine();
  expect(bad).toEqual([]);
  expect(found).toContain('A token was given; it is good until');
  expect(found).toContain('The token carries Files.Read.All, Sites.Read.All.');
  expect(
    fake.requests.filter(({ origin, hasAuthorization }) => origin === 'content' && hasAuthorization),
  ).toEqual([]);
});

/** Variables of a sign-in without a secret. */
const signIns: Readonly<Record<string, () => Promise<Record<string, string>>>> = {
  async certificate() {
    const { cert, key } = await makeCertificate();
    const path = join(folder.path, 'application.pem');
    await writeFile(path, `${key}\n${cert}`);
    return { AZURE_CLIENT_CERTIFICATE_PATH: path };
  },
  // What Kubernetes puts into a file; the stand-in asks that it names the application.
  async workload() {
    const path = join(folder.path, 'federated');
    const claims = Buffer.from(JSON.stringify({ sub: fake.clientId })).toString('base64url');
    await writeFile(path, `head.${claims}.signature`);
    return { AZURE_FEDERATED_TOKEN_FILE: path };
  },
  // A machine's own identity, by the address that Azure gives its applications.
  async managed() {
    const server = createServer((request, response) => {
      const isAsked = request.headers['x-identity-header'] === 'its secret';
      const expires_on = Math.floor(Date.now() / 1000) + 3600;
      const token = { access_token: fake.token, expires_on, resource: 'graph', token_type: 'Bearer' };
      response.writeHead(isAsked ? 200 : 401, { 'content-type': 'application/json' });
      response.end(JSON.stringify(isAsked ? token : {}));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    stack.defer(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const endpoint = { IDENTITY_ENDPOINT: `http://127.0.0.1:${port}/token`, IDENTITY_HEADER: 'its secret' };
    return { ...endpoint, AZURE_TENANT_ID: '', AZURE_CLIENT_ID: '' };
  },
};

it.each(Object.keys(signIns))(
  'doctor signs in with what @azure/identity takes beside a secret: %s',
  async (kind) => {
    const { bad, found } = await examine({ AZURE_CLIENT_SECRET: '', ...(await signIns[kind]?.()) });
    expect(bad).toEqual([]);
    expect(found).toContain('is there.');
  },
);

it('doctor tells a wrong secret by the code of the authority', async () => {
  const { bad, found } = await examine({ AZURE_CLIENT_SECRET: 'wrong' });
  expect(bad).toEqual(['trouble drive token_credentials']);
  expect(found).toContain('AADSTS7000215');
});

// The library tries an authority that does not answer for some seconds.
it.each(isLong ? ['unknown', 'unreachable'] : ['unknown'])(
  'doctor names tenant and authority where one of them is %s: from here they look alike',
  async (kind) => {
    const other = '11111111-1111-4111-8111-111111111111';
    fake.fault({ kind: 'status', status: 400, match: { origin: 'authority', path: other } });
    const { bad, checks } = await examine(
      kind === 'unknown'
        ? { AZURE_TENANT_ID: other }
        : { AGENT_KNOWLEDGE_GRAPH_AUTHORITY: 'https://127.0.0.1:9' },
    );
    expect(bad).toEqual(['trouble drive token_unanswered']);
    const check = checks.find(({ name }) => name === 'token_unanswered');
    expect(check?.found).toContain('does not answer, or does not know this tenant');
    expect(check?.fix).toMatch(/AZURE_TENANT_ID.*proxy.*which of the two/);
  },
);
