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
    if (target === '/v1.0/$batch') {
      const { requests } = JSON.parse(text) as { requests: { id: string; url: string }[] };
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
    const [, rest = ''] = /^\/drives\/b!tiny\/(.*)$/.exec(target) ?? [];
    drive.asked.push(decodeURIComponent(rest));
    if (rest === 'root') return read('.');
    const byPath = /^root:\/(.*)$/.exec(rest)?.[1];
    if (byPath !== undefined) return read(byPath.split('/').map(decodeURIComponent).join('/'));
    const [, id = '', children] = /^items\/([^/]+)(\/children)?$/.exec(rest) ?? [];
    const path = pathOf(decodeURIComponent(id));
    if (path === null) return refusal(404);
    return children === undefined ? read(path) : list(path);
  }

  function pathOf(id: string): string | null {
    if (id.startsWith('folder ')) return id.slice(7);
    return [...drive.files].find(([, file]) => file.id === id)?.[0] ?? null;
  }

  function read(path: string): Answer {
    const status = drive.refusals.get(path);
    if (status !== undefined) return refusal(status);
    const found = everything().find((name) => name.toLowerCase() === path.toLowerCase());
    return found === undefined ? refusal(404) : { status: 200, body: jsonOf(found) };
  }

  function list(folder: string): Answer {
    const status = drive.refusals.get(`children ${folder}`);
    if (status !== undefined) return refusal(status);
    const children = everything().filter((path) => path !== '.' && parentOf(path) === folder);
    return { status: 200, body: { value: children.map(jsonOf) } };
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
    const parentReference = path === '.' ? {} : { id: `folder ${parentOf(path)}` };
    if (file === undefined) {
      const childCount = everything().filter((other) => other !== '.' && parentOf(other) === path).length;
      const root = path === '.' ? { root: {} } : {};
      return { id: `folder ${path}`, name, folder: { childCount }, parentReference, ...root };
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
