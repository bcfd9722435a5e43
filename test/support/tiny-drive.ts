import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { quickXorHash } from '../../src/source/graph/quick-xor-hash.ts';

/** A file of a drive that exists only in a test; `spoil` changes what the drive says of it. */
export interface TinyFile {
  id: string;
  content: Buffer;
  version: number;
  spoil: Readonly<Record<string, unknown>>;
}

/** A drive in memory, over real HTTP: whatever a test writes into `files` and `refusals` is what the next request meets. */
export interface TinyDrive extends AsyncDisposable {
  readonly url: string;
  readonly driveId: string;
  /** By their paths from the drive's root; folders are whatever lies above them. */
  readonly files: Map<string, TinyFile>;
  /** Statuses by the path (`.` is the root), or by `content <id>`. */
  readonly refusals: Map<string, number>;
  /** Every path that was asked for, the steps of a batch as well. */
  readonly asked: string[];
  /** How many steps each batch had. */
  readonly batches: number[];
  /** Children to a page. */
  pageSize: number;
  /** What the root says of its children instead of the truth; null else (D26). */
  rootChildCount: number | null;
  /** Whether every request is answered with 401. */
  unauthorized: boolean;
  /** Whether a refused path is there by its id all the same, as while an index lags behind (D22). */
  idsAnswer: boolean;
  /** Ids of folders that are not the usual ones. */
  readonly folderIds: Map<string, string>;
  /** Called before an item is read or a folder listed, with what was asked for. */
  onAsked: (path: string) => void;
  /** Called before a content is sent, with its item's id. */
  onContent: (id: string) => void;
  put(path: string, content: string | Buffer, spoil?: TinyFile['spoil']): TinyFile;
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

export async function startTinyDrive(): Promise<TinyDrive> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => respond(request.url ?? '', Buffer.concat(chunks).toString(), response));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  let ids = 0;
  const drive: TinyDrive = {
    url,
    driveId: 'b!tiny',
    files: new Map(),
    refusals: new Map(),
    asked: [],
    batches: [],
    pageSize: 1000,
    rootChildCount: null,
    unauthorized: false,
    idsAnswer: false,
    folderIds: new Map(),
    onAsked: () => undefined,
    onContent: () => undefined,
    put(path, content, spoil = {}) {
      const before = drive.files.get(path);
      const file = { id: before?.id ?? `item${(ids += 1)}`, content: Buffer.from(content), spoil };
      const next = { ...file, version: (before?.version ?? 0) + 1 };
      drive.files.set(path, next);
      return next;
    },
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };

  function respond(target: string, text: string, response: ServerResponse): void {
    if (drive.unauthorized) return send(response, refusal(401));
    if (target === '/v1.0/$batch') {
      const { requests } = JSON.parse(text) as { requests: { id: string; url: string }[] };
      drive.batches.push(requests.length);
      const responses = requests.map(({ id, url }) => ({ id, headers: {}, ...answer(url) })).toReversed();
      return send(response, { status: 200, body: { responses } });
    }
    const content = /\/items\/([^/]+)\/content$/.exec(target)?.[1];
    if (content !== undefined) return sendContent(response, content);
    send(response, answer(target.replace('/v1.0', '')));
  }

  function sendContent(response: ServerResponse, id: string): void {
    drive.asked.push(`content ${id}`);
    drive.onContent(id);
    const status = drive.refusals.get(`content ${id}`);
    const file = [...drive.files.values()].find((file) => file.id === id);
    if (status !== undefined || file === undefined) return send(response, refusal(status ?? 404));
    response.writeHead(200, { 'content-type': 'text/plain', 'content-length': file.content.length });
    response.end(file.content);
  }

  function answer(target: string): Answer {
    // A `#` that is not encoded ends an address, in a batch as well (A3).
    const [, rest = ''] = /^\/drives\/b!tiny\/([^#]*)/.exec(target) ?? [];
    drive.asked.push(decodeURIComponent(rest));
    drive.onAsked(decodeURIComponent(rest));
    if (rest === 'root') return read('.');
    const byPath = /^root:\/(.*)$/.exec(rest)?.[1];
    if (byPath !== undefined) return read(byPath.split('/').map(decodeURIComponent).join('/'));
    const [, id = '', children, page = '0'] =
      /^items\/([^/]+?)(\/children)?(?:\?page=(\d+))?$/.exec(rest) ?? [];
    const path = pathOf(decodeURIComponent(id));
    if (path === null) return refusal(404);
    if (children !== undefined) return list(path, Number(page));
    return drive.idsAnswer ? { status: 200, body: jsonOf(path) } : read(path);
  }

  function idOf(folder: string): string {
    return drive.folderIds.get(folder) ?? `folder ${folder}`;
  }

  function pathOf(id: string): string | null {
    if (id.startsWith('folder ')) return id.slice(7);
    for (const [path, own] of drive.folderIds) if (own === id) return path;
    return [...drive.files].find(([, file]) => file.id === id)?.[0] ?? null;
  }

  function read(path: string): Answer {
    const status = drive.refusals.get(path);
    if (status !== undefined) return refusal(status);
    const found = everything().find((name) => name.toLowerCase() === path.toLowerCase());
    return found === undefined ? refusal(404) : { status: 200, body: jsonOf(found) };
  }

  function list(folder: string, page: number): Answer {
    const status = drive.refusals.get(`children ${folder}`);
    if (status !== undefined) return refusal(status);
    const children = everything().filter((path) => path !== '.' && parentOf(path) === folder);
    const [from, to] = [page * drive.pageSize, (page + 1) * drive.pageSize];
    const next = `${url}/v1.0/drives/b!tiny/items/${encodeURIComponent(idOf(folder))}/children?page=${page + 1}`;
    const value = children.slice(from, to).map(jsonOf);
    return {
      status: 200,
      body: { value, ...(to < children.length && { '@odata.nextLink': next }) },
    };
  }

  /** The root, every folder and every file. */
  function everything(): string[] {
    const folders = [...drive.files.keys()].flatMap((path) =>
      path.split('/').map((_, index, all) => all.slice(0, index).join('/') || '.'),
    );
    return [...new Set(['.', ...folders, ...drive.files.keys()])];
  }

  function jsonOf(path: string): unknown {
    const file = drive.files.get(path);
    const name = path === '.' ? 'root' : path.slice(path.lastIndexOf('/') + 1);
    const parentReference = path === '.' ? {} : { id: idOf(parentOf(path)) };
    if (file === undefined) {
      const count = everything().filter((other) => other !== '.' && parentOf(other) === path).length;
      const childCount = (path === '.' ? drive.rootChildCount : null) ?? count;
      const root = path === '.' ? { root: {} } : {};
      return { id: idOf(path), name, folder: { childCount }, parentReference, ...root };
    }
    return {
      id: file.id,
      name,
      parentReference,
      eTag: `"${file.id},${file.version}"`,
      cTag: `"c:${file.id},${file.version}"`,
      size: file.content.length,
      lastModifiedDateTime: '2026-01-31T10:00:00Z',
      file: { hashes: { quickXorHash: quickXorHash(file.content) } },
      ...file.spoil,
    };
  }

  return drive;
}

function parentOf(path: string): string {
  const end = path.lastIndexOf('/');
  return end === -1 ? '.' : path.slice(0, end);
}

function refusal(status: number): Answer {
  const code = { 403: 'accessDenied', 404: 'itemNotFound', 423: 'notAllowed' }[status] ?? 'generalException';
  return {
    status,
    body: { error: { code, message: 'Words that nobody reads.', innerError: { 'request-id': 'req-7' } } },
  };
}

function send(response: ServerResponse, { status, body }: Answer): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}
