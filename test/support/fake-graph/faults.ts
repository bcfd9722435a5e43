import { decoded, type Asked } from './reply.ts';

/** Which requests a fault hits. Left out: every request to Graph; faults of contents hit the content host. */
export interface FaultMatch {
  readonly method?: string;
  /** Found in the decoded path and query, or in the path of the item. */
  readonly path?: string | RegExp;
  /** True: steps of a batch only; false: none of them. */
  readonly step?: boolean;
  readonly origin?: Asked['origin'];
}

/** What goes wrong. `times`: how often (for ever); `skip`: how many matching requests get by before. */
export type Fault = {
  readonly match?: FaultMatch;
  readonly times?: number;
  readonly skip?: number;
} & (
  | {
      readonly kind: 'status';
      readonly status: number;
      readonly code?: string;
      readonly innerCode?: string;
      readonly headers?: Readonly<Record<string, string>>;
      /** Of a 410: a fresh enumeration, one that answers 500, or an address. */
      readonly location?: 'fresh' | 'broken' | (string & {});
      /** Instead of the error's JSON. */
      readonly body?: string;
    }
  /** 401 that asks for claims (T8). */
  | { readonly kind: 'claims' }
  | { readonly kind: 'reset'; readonly at: 'start' | 'headers' | 'body' }
  | { readonly kind: 'hang'; readonly at: 'start' | 'body' }
  | { readonly kind: 'slow'; readonly chunkBytes: number; readonly everyMs: number }
  /** `cut` half of the body; `empty` none; `html` a page; `error` JSON of an error. All of them with 200. */
  | { readonly kind: 'body'; readonly body: 'cut' | 'empty' | 'html' | 'error' }
  | { readonly kind: 'headers'; readonly headers: Readonly<Record<string, string>> }
  | { readonly kind: 'clock'; readonly skewSeconds: number }
  /** Fields of an item's JSON replaced; `undefined` or null takes one out. `hash` and `driveId` stand deeper. */
  | {
      readonly kind: 'item';
      readonly fields?: Readonly<Record<string, unknown>>;
      readonly hash?: string | null;
      readonly driveId?: 'upper' | 'lower';
    }
  | { readonly kind: 'content'; readonly change: 'short' | 'flip' | 'longer' }
  /** More bytes than anybody wants, 2 GB where nothing else is said. */
  | { readonly kind: 'endless'; readonly bytes?: number }
  /** Called before a content is read, such as to change the file. Not over the wire. */
  | { readonly kind: 'at_content'; readonly call: () => void | Promise<void> }
  | { readonly kind: 'redirect'; readonly to: string }
  | {
      readonly kind: 'feed';
      readonly trick:
        | 'foreign_link'
        | 'loop'
        | 'repeat_page'
        | 'empty_page'
        | 'ghosts'
        | 'repeat_items'
        | 'no_tombstones';
      /** Where a foreign link leads. */
      readonly to?: string;
    }
);

export type FaultKind = Fault['kind'];

interface Planted {
  readonly fault: Fault;
  used: number;
}

/** The faults that are planted at the moment. */
export class Faults {
  readonly #planted = new Set<Planted>();

  /** Plants one; the function takes it out. */
  plant(fault: Fault): () => void {
    const planted = { fault, used: 0 };
    this.#planted.add(planted);
    return () => void this.#planted.delete(planted);
  }

  clear(): void {
    this.#planted.clear();
  }

  /** The first of its kind that hits the request, counted as used; null where there is none. */
  take<K extends FaultKind>(kind: K, asked: Asked): Extract<Fault, { kind: K }> | null {
    for (const planted of this.#planted) {
      const { fault } = planted;
      const skip = fault.skip ?? 0;
      if (fault.kind !== kind || planted.used >= skip + (fault.times ?? Infinity) || !hits(fault, asked))
        continue;
      planted.used += 1;
      if (planted.used > skip) return fault as Extract<Fault, { kind: K }>;
    }
    return null;
  }
}

function hits({ kind, match = {} }: Fault, asked: Asked): boolean {
  const isOfContent = kind === 'content' || kind === 'endless' || kind === 'at_content';
  if ((match.origin ?? (isOfContent ? 'content' : 'graph')) !== asked.origin) return false;
  if (match.method !== undefined && match.method !== asked.method) return false;
  if (match.step !== undefined && match.step !== asked.batched) return false;
  const { path } = match;
  if (path === undefined) return true;
  const texts = [decoded(asked.path), asked.subject ?? ''];
  return texts.some((text) => (typeof path === 'string' ? text.includes(path) : path.test(text)));
}
