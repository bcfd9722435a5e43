import { randomUUID } from 'node:crypto';
import type { Fault } from './faults.ts';
import { changeJson, type DriveFacts } from './item-json.ts';
import type { FakeItem } from './item-tree.ts';
import { refusal, type Asked, type Reply } from './reply.ts';

/** Where a reader of the feed stands. */
interface Position {
  /** Ids that are still to come in this round; null: a round begins. */
  readonly ids: readonly string[] | null;
  /** What the round after this one begins behind; for a new round, what this one begins behind. */
  readonly sequence: number;
}

type Trick = Extract<Fault, { kind: 'feed' }>['trick'];

/** The drive's feed of changes: rounds of pages, with links that nobody can read (D1, D17). */
export class Delta {
  readonly #drive: DriveFacts;
  readonly #rootOf: () => string;
  readonly #pageSize: number;
  #positions = new Map<string, Position>();
  #made = 0;

  /** `root`: the address of the drive, without a slash at the end; known when the server listens. */
  constructor(drive: DriveFacts, root: () => string, pageSize: number) {
    this.#drive = drive;
    this.#rootOf = root;
    this.#pageSize = pageSize;
  }

  get #root(): string {
    return this.#rootOf();
  }

  /** From now on every link given so far is answered with 410. */
  expire(): void {
    this.#positions = new Map();
  }

  /** One page; `token` null: the whole drive from the beginning. */
  answer(token: string | null, asked: Asked): Reply {
    const { tree } = this.#drive;
    if (token === 'latest')
      return this.#page([], this.#linkTo({ ids: null, sequence: tree.sequence }, 'delta'));
    if (token === 'broken') return refusal(500, 'generalException');
    const position = token === null || token === '' ? { ids: null, sequence: 0 } : this.#positions.get(token);
    if (position === undefined)
      return refusal(410, 'resyncRequired', {
        innerCode: 'resyncApplyDifferences',
        headers: { location: `${this.#root}/root/delta` },
      });
    return this.#round(position, asked);
  }

  #round(position: Position, asked: Asked): Reply {
    const { tree } = this.#drive;
    const ids = position.ids ?? this.#changedSince(position.sequence);
    const sequence = position.ids === null ? tree.sequence : position.sequence;
    const here = { ids, sequence };
    const trick = this.#drive.faults.take('feed', asked);
    const shown = ids
      .slice(0, this.#pageSize)
      .map((id) => tree.items.get(id))
      .filter((item) => item !== undefined);
    const rest = ids.slice(this.#pageSize);
    const link =
      rest.length > 0
        ? this.#linkTo({ ids: rest, sequence }, 'next')
        : this.#linkTo({ ids: null, sequence }, 'delta');
    const again = () => this.#linkTo(here, 'next');
    return this.#tricked({ trick, asked, shown, link, again });
  }

  #tricked(page: {
    readonly trick: Extract<Fault, { kind: 'feed' }> | null;
    readonly asked: Asked;
    readonly shown: readonly FakeItem[];
    readonly link: Link;
    readonly again: () => Link;
  }): Reply {
    const { trick, asked, shown, link, again } = page;
    const tell = (items: readonly FakeItem[]) => items.map((item) => changeJson(this.#drive, item, asked));
    const kind: Trick | null = trick?.trick ?? null;
    switch (kind) {
      case null:
        return this.#page(tell(shown), link);
      case 'foreign_link':
        return this.#page(tell(shown), { ...link, url: foreign(link.url, trick?.to) });
      case 'loop':
        return this.#page(tell(shown), {
          name: 'next',
          url: new URL(this.#root).origin + '/v1.0' + asked.path,
        });
      case 'repeat_page':
        return this.#page(tell(shown), again());
      case 'empty_page':
        return this.#page([], again());
      case 'ghosts':
        return this.#page(
          [{ id: 'GHOST!1' }, { deleted: {} }, {}, { id: 'GHOST!2', name: 'x', size: 1 }, ...tell(shown)],
          link,
        );
      case 'repeat_items':
        return this.#page(
          [...tell(shown).map((json) => ({ ...json, name: `before ${shown.length}.md` })), ...tell(shown)],
          link,
        );
      case 'no_tombstones':
        return this.#page(tell(shown.filter((item) => !item.deleted)), link);
      default:
        return kind satisfies never;
    }
  }

  /** With every ancestor up to the root (D4); the root alone is told where nothing has changed. */
  #changedSince(sequence: number): string[] {
    const { tree } = this.#drive;
    const ids = new Set([tree.rootId]);
    for (const item of tree.items.values()) {
      if (item.changedAt <= sequence || (sequence === 0 && item.deleted)) continue;
      for (const { id, deleted } of tree.chain(item)) if (id === item.id || !deleted) ids.add(id);
    }
    return [...ids];
  }

  #page(value: readonly unknown[], { name, url }: Link): Reply {
    const context = `${this.#root.replace(/\/drives\/.*$/, '')}/$metadata#Collection(driveItem)`;
    return { status: 200, body: { '@odata.context': context, [`@odata.${name}Link`]: url, value } };
  }

  /** Spellings take turns: whoever takes a link apart is found out. */
  #linkTo(position: Position, name: Link['name']): Link {
    const token = randomUUID().replaceAll('-', '');
    this.#positions.set(token, position);
    this.#made += 1;
    const feed = `${this.#root}/root/delta`;
    const url = this.#made % 2 === 0 ? `${feed}(token='${token}')` : `${feed}?token=${token}`;
    return { name, url };
  }
}

interface Link {
  readonly name: 'next' | 'delta';
  readonly url: string;
}

function foreign(url: string, to = 'https://graph.elsewhere.example'): string {
  const { pathname, search } = new URL(url);
  return `${to}${pathname}${search}`;
}
