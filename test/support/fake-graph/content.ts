import { randomBytes } from 'node:crypto';
import type { Faults } from './faults.ts';
import { eTagOf } from './item-json.ts';
import type { FakeItem, ItemTree } from './item-tree.ts';
import { htmlPage, type Asked, type Reply } from './reply.ts';

interface Pass {
  readonly itemId: string;
  readonly until: number;
  used: boolean;
}

/** The host that contents come from: an address is good for one use and a short time, and Authorization spoils it (C4 to C6). */
export class Content {
  readonly #tree: ItemTree;
  readonly #faults: Faults;
  readonly #lifeMs: number;
  #passes = new Map<string, Pass>();
  /** Where the host listens; known when it does. */
  origin = '';

  constructor(tree: ItemTree, faults: Faults, lifeMs: number) {
    this.#tree = tree;
    this.#faults = faults;
    this.#lifeMs = lifeMs;
  }

  /** A new address for an item's content. */
  urlOf(item: FakeItem): string {
    const pass = randomBytes(18).toString('base64url');
    this.#passes.set(pass, { itemId: item.id, until: Date.now() + this.#lifeMs, used: false });
    return `${this.origin}/_layouts/15/download.aspx?UniqueId=${item.id}&tempauth=${pass}`;
  }

  /** Ends every address given so far. */
  expire(): void {
    this.#passes = new Map();
  }

  /** Path of the item that an address is for. */
  subjectOf(path: string): string | null {
    const id = new URL(path, 'http://content').searchParams.get('UniqueId') ?? '';
    const item = this.#tree.items.get(id);
    return item === undefined ? null : this.#tree.pathOf(item);
  }

  async answer(asked: Asked): Promise<Reply> {
    const page = { headers: { 'content-type': 'text/html' }, body: htmlPage };
    if (asked.headers['authorization'] !== undefined) return { status: 401, ...page };
    if (asked.method !== 'GET') return { status: 405, ...page };
    const pass = this.#passes.get(new URL(asked.path, 'http://content').searchParams.get('tempauth') ?? '');
    if (pass === undefined || pass.used || pass.until < Date.now()) return { status: 401, ...page };
    pass.used = true;
    await this.#faults.take('at_content', asked)?.call();
    this.#tree.scan();
    const item = this.#tree.live(pass.itemId);
    if (item === null) return { status: 404, ...page };
    return ranged(item, changed(this.#tree.read(item), this.#faults.take('content', asked)?.change), asked);
  }
}

function changed(bytes: Buffer, change: 'short' | 'flip' | 'longer' | undefined): Buffer {
  switch (change) {
    case undefined:
      return bytes;
    case 'short':
      return bytes.subarray(0, Math.floor(bytes.length / 2));
    case 'longer':
      return Buffer.concat([bytes, Buffer.from(' and more')]);
    case 'flip': {
      const flipped = Buffer.from(bytes);
      if (flipped.length > 0) flipped[0] = (flipped[0] ?? 0) ^ 1;
      return flipped;
    }
    default:
      return change satisfies never;
  }
}

function ranged(item: FakeItem, bytes: Buffer, asked: Asked): Reply {
  const headers = {
    'content-type': 'application/octet-stream',
    'accept-ranges': 'bytes',
    etag: eTagOf(item),
  };
  const range = /^bytes=(\d+)-(\d*)$/.exec(asked.headers['range'] ?? '');
  if (range === null) return { status: 200, headers, body: bytes };
  const first = Number(range[1]);
  const last = Math.min(range[2] === '' ? Infinity : Number(range[2]), bytes.length - 1);
  const contentRange = { 'content-range': `bytes ${first}-${last}/${bytes.length}` };
  return { status: 206, headers: { ...headers, ...contentRange }, body: bytes.subarray(first, last + 1) };
}
