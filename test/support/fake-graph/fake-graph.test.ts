import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@microsoft/microsoft-graph-client';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { quickXorHash } from '../../../src/source/graph/quick-xor-hash.ts';
import { startFakeGraph, type FakeGraph } from './fake-graph.ts';

/*
 * The stand-in for Microsoft Graph by itself: what it says has the shapes of the real service and is true of the folder.
 */

interface Item {
  readonly id: string;
  readonly name?: string;
  readonly eTag: string;
  readonly cTag?: string;
  readonly size: number;
  readonly file?: { readonly hashes: { readonly quickXorHash: string } };
  readonly deleted?: { readonly state: string };
  readonly parentReference: { readonly id?: string; readonly path?: string };
}

let stack: AsyncDisposableStack;
let root: string;
let fake: FakeGraph;

beforeEach(async () => {
  stack = new AsyncDisposableStack();
  root = await mkdtemp(join(tmpdir(), 'ak-fake-'));
  stack.defer(() => rm(root, { recursive: true, force: true }));
  await mkdir(join(root, 'Knowledge'));
  await writeFile(join(root, 'Knowledge/rules.md'), '# Rules\n');
  fake = stack.use(await startFakeGraph({ root, pageSize: 2, allowHttpNotifications: true }));
});
afterEach(() => stack.disposeAsync());

const drive = () => `/drives/${fake.driveId}`;
const item = (path: string) => `${drive()}/root:/${path.split('/').map(encodeURIComponent).join('/')}`;

async function ask(
  path: string,
  init: { readonly method?: string; readonly body?: string } = {},
): Promise<Response> {
  const url = path.startsWith('/') ? `${fake.url}/v1.0${path}` : path;
  return fetch(url, {
    redirect: 'manual',
    ...init,
    headers: { authorization: `Bearer ${fake.token}` },
  });
}

async function read<Body = Item>(path: string): Promise<Body> {
  const answer = await ask(path);
  expect(answer.status, path).toBe(200);
  return (await answer.json()) as Body;
}

interface Page {
  readonly value: readonly Item[];
  readonly '@odata.nextLink'?: string;
  readonly '@odata.deltaLink'?: string;
}

/** All items of a round, and the link of the next one. */
async function round(link: string): Promise<{ items: Item[]; link: string; pages: number }> {
  const items: Item[] = [];
  for (let pages = 1; ; pages += 1) {
    const page = await read<Page>(link);
    items.push(...page.value);
    if (page['@odata.deltaLink']) return { items, link: page['@odata.deltaLink'], pages };
    link = page['@odata.nextLink'] ?? '';
  }
}

describe('an item', () => {
  test('is told by path and by id with the hash and size of the file on disk, whatever its name is (A3)', async () => {
    const names = [
      '50% off & more + #1.md',
      "it's (new).md",
      'قواعد.md',
      're\u0301gles.md',
      'r\u00e9gles.md',
      '📎.md',
    ];
    for (const name of names) {
      await writeFile(join(root, 'Knowledge', name), `# ${name}\n`);
      const found = await read(item(`Knowledge/${name}`));
      const bytes = Buffer.from(`# ${name}\n`);
      expect(found).toMatchObject({
        name,
        size: bytes.length,
        file: { hashes: { quickXorHash: quickXorHash(bytes) } },
      });
      expect(await read(`${drive()}/items/${found.id}`)).toMatchObject({ id: found.id, eTag: found.eTag });
    }
  });

  test('is found whatever the letter case and told as it is spelled; nothing else is found (A2)', async () => {
    expect((await read(item('knowledge/RULES.md'))).name).toBe('rules.md');
    expect((await ask(item('Knowledge/other.md'))).status).toBe(404);
  });

  test('keeps its id when it is renamed or moved, and has another one when it is made anew (A1, A10)', async () => {
    const before = await read(item('Knowledge/rules.md'));
    await rename(join(root, 'Knowledge/rules.md'), join(root, 'moved.md'));
    const moved = await read(item('moved.md'));
    expect(moved).toMatchObject({ id: before.id, cTag: before.cTag });
    expect(moved.eTag).not.toBe(before.eTag);
    await rm(join(root, 'moved.md'));
    await writeFile(join(root, 'moved.md'), '# Rules\n');
    expect((await read(item('moved.md'))).id).not.toBe(before.id);
  });

  test('is never written: what would change the drive is refused and noted', async () => {
    const answer = await ask(`${item('Knowledge/rules.md')}:/content`, { method: 'PUT', body: 'new' });
    expect(answer.status).toBe(405);
    expect(fake.writes).toHaveLength(1);
  });

  test('is told to nobody without a token that counts', async () => {
    expect((await fetch(`${fake.url}/v1.0${drive()}`)).status).toBe(401);
    const restore = fake.expireTokens();
    const refused = await ask(drive());
    expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([
      401,
      expect.stringMatching(/^Bearer /),
    ]);
    restore();
    expect((await ask(drive())).status).toBe(200);
  });
});

test('contents come from another origin, once per address, and not with Authorization (C4, C5, C6)', async () => {
  const { id } = await read(item('Knowledge/rules.md'));
  const address = async () => (await ask(`${drive()}/items/${id}/content`)).headers.get('location') ?? '';
  const first = await address();
  expect(new URL(first).origin).toBe(fake.contentUrl);
  expect(fake.contentUrl).not.toBe(fake.url);
  expect((await ask(first)).status).toBe(401);
  expect(await (await fetch(first)).text()).toBe('# Rules\n');
  expect((await fetch(first)).status).toBe(401);
  const second = await address();
  fake.expireAddresses();
  expect((await fetch(second)).status).toBe(401);
});

test('the feed tells in pages of what has changed since a link, deletions without a name (D1, D4, D7)', async () => {
  const latest = await round(`${drive()}/root/delta?token=latest`);
  expect(latest.items).toEqual([]);
  expect((await round(`${drive()}/root/delta`)).items.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['root', 'Knowledge', 'rules.md']),
  );
  const rules = await read(item('Knowledge/rules.md'));
  await writeFile(join(root, 'Knowledge/rules.md'), '# Rules, longer\n');
  const changed = await round(latest.link);
  expect(changed.pages).toBe(2);
  expect(changed.items.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['root', 'Knowledge', 'rules.md']),
  );
  for (const { parentReference } of changed.items) expect(parentReference.path).toBeUndefined();
  await rm(join(root, 'Knowledge/rules.md'));
  const gone = (await round(changed.link)).items.find(({ id }) => id === rules.id);
  expect(gone).toMatchObject({ deleted: { state: 'deleted' }, size: 0 });
  expect(gone?.name).toBeUndefined();
  fake.expireLinks();
  const over = await ask(changed.link);
  expect([over.status, over.headers.get('location')]).toEqual([410, expect.stringContaining('/root/delta')]);
});

test('a batch answers each step by itself, in another order, with 200 for the whole (B1)', async () => {
  const requests = ['Knowledge/rules.md', 'none.md'].map((path, index) => ({
    id: `${index}`,
    method: 'GET',
    url: item(path),
  }));
  const post = (steps: readonly unknown[]) =>
    ask('/$batch', { method: 'POST', body: JSON.stringify({ requests: steps }) });
  const { responses } = (await (await post(requests)).json()) as {
    responses: { id: string; status: number }[];
  };
  expect(responses.map(({ id, status }) => [id, status])).toEqual([
    ['1', 404],
    ['0', 200],
  ]);
  const many = Array.from({ length: 21 }, (_, index) => ({ id: `${index}`, method: 'GET', url: drive() }));
  expect((await post(many)).status).toBe(400);
});

test('a drive is found by its site and library, and by a sharing link', async () => {
  const { hostname, pathname } = new URL(fake.siteUrl);
  const site = await read(`/sites/${hostname}:${pathname}`);
  const { value } = await read<{ value: { id: string; name: string }[] }>(`/sites/${site.id}/drives`);
  expect(value.find(({ name }) => name === fake.libraryName)?.id).toBe(fake.driveId);
  const shared = await read(`/shares/u!${Buffer.from(fake.sharingLink).toString('base64url')}/driveItem`);
  expect(shared).toMatchObject({ parentReference: { driveId: fake.driveId } });
});

test('a subscriber is asked first, told of changes with its secret, and no more when it has left (W1, W2)', async () => {
  const got: { url: string; body: string }[] = [];
  const receiver = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      got.push({ url: request.url ?? '', body });
      const token = new URL(request.url ?? '', 'http://x').searchParams.get('validationToken');
      response.writeHead(token === null ? 202 : 200, { 'content-type': 'text/plain' }).end(token ?? '');
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  stack.defer(() => void receiver.close());
  const body = {
    changeType: 'updated',
    notificationUrl: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`,
    resource: `${drive()}/root`,
    expirationDateTime: new Date(Date.now() + 3_600_000).toISOString(),
    clientState: 'a secret',
  };
  const made = await ask('/subscriptions', { method: 'POST', body: JSON.stringify(body) });
  expect(made.status).toBe(201);
  const { id } = (await made.json()) as { id: string };
  expect(await fake.subscriptions.notify()).toEqual([202]);
  expect(JSON.parse(got[1]?.body ?? '')).toMatchObject({
    value: [{ subscriptionId: id, clientState: 'a secret' }],
  });
  expect((await ask(`/subscriptions/${id}`, { method: 'DELETE' })).status).toBe(204);
  expect(await fake.subscriptions.notify()).toEqual([]);
  const refused = { ...body, notificationUrl: `${fake.url}/v1.0/nobody` };
  expect((await ask('/subscriptions', { method: 'POST', body: JSON.stringify(refused) })).status).toBe(400);
});

describe('a planted fault', () => {
  test.each([
    ['a status', { kind: 'status', status: 503, headers: { 'retry-after': '7' } }, 503],
    ['half a body', { kind: 'body', body: 'cut' }, 200],
    ['a page', { kind: 'body', body: 'html' }, 200],
    ['a cut connection', { kind: 'reset', at: 'start' }, 0],
  ] as const)('hits as often as it was asked to and no other request: %s', async (_, fault, status) => {
    fake.fault({ ...fault, match: { path: 'rules.md' }, times: 1 });
    expect((await ask(drive())).status).toBe(200);
    const hit = await ask(item('Knowledge/rules.md')).catch(() => null);
    expect(hit?.status ?? 0).toBe(status);
    if (status === 200) await expect(hit?.json()).rejects.toThrow();
    expect((await read(item('Knowledge/rules.md'))).name).toBe('rules.md');
  });

  test('comes over the wire too, and what was asked can be read there, without tokens', async () => {
    const fault = { kind: 'status', status: 404, match: { path: 'rules.md' }, times: 1 };
    await fetch(`${fake.url}/fake/faults`, { method: 'POST', body: JSON.stringify(fault) });
    expect((await ask(item('Knowledge/rules.md'))).status).toBe(404);
    const asked = await (await fetch(`${fake.url}/fake/requests`)).text();
    expect(asked).toContain('/Knowledge/rules.md');
    expect(asked).not.toContain(fake.token);
  });
});

test('the official client does not trust its certificate unasked, and keeps its token to itself over http (graph.md 5)', async () => {
  const secure = stack.use(await startFakeGraph({ root, https: true }));
  const client = Client.init({
    baseUrl: `${secure.url}/`,
    customHosts: new Set(['localhost']),
    authProvider: (done) => done(null, secure.token),
  });
  // This process does not trust the certificate: that it is asked for is what is to be seen.
  await expect(client.api(`/drives/${secure.driveId}`).get()).rejects.toThrow(/fetch failed/);
  expect(secure.certificate).toContain('BEGIN CERTIFICATE');
  const plain = Client.init({
    baseUrl: `${fake.url}/`,
    customHosts: new Set(['127.0.0.1']),
    authProvider: (done) => done(null, fake.token),
  });
  // Over http the client keeps its token to itself (graph.md 5).
  await expect(plain.api(drive()).get()).rejects.toMatchObject({ statusCode: 401 });
});
