import type { DriveChange } from '../../core/drive-hints.ts';
import type { Graph } from './graph.ts';
import { GraphError } from './graph-error.ts';
import { readChangePage, type ChangePage } from './change-page.ts';

/** What is to be read, and who is told how far it has come. */
export interface ChangesWanted {
  readonly driveId: string;
  /** Where the last round ended, as the service gave it; null where there was none. */
  readonly link: string | null;
  /** Called after each page, with what there was so far (bug 14). */
  readonly onPage?: (pages: number, items: number) => void;
  readonly limits?: FeedLimits;
}

/** Where a round ends that does not end by itself. */
export interface FeedLimits {
  readonly pages: number;
  /** Pages in a row that bring nothing new; empty ones are no fault, but they must end (D16). */
  readonly stalePages: number;
  /** Changes that are kept, so that a drive that was written anew takes no memory (bug 37). */
  readonly changes: number;
}

const usualLimits: FeedLimits = { pages: 10_000, stalePages: 50, changes: 50_000 };

/**
 * What a round came to. None of it is the truth: it only says what to look at.
 *
 * - `changes`: read to the end; the next round goes on from `link`.
 * - `fresh`: there was no link, or the service no longer takes it; `link` is new, and anything may have happened before it.
 * - `stuck`: the pages lead nowhere (D16); what they brought is still a hint, and the next round begins from the old link.
 * - `unsupported`: this drive tells nobody of its changes (N2).
 */
export type ChangesRead =
  | {
      readonly kind: 'changes';
      readonly changes: readonly DriveChange[];
      /** More has changed than is kept: everything is to be looked at. */
      readonly tooMany: boolean;
      readonly link: string;
    }
  | { readonly kind: 'fresh'; readonly link: string; readonly reason: string }
  | { readonly kind: 'stuck'; readonly changes: readonly DriveChange[]; readonly message: string }
  | { readonly kind: 'unsupported'; readonly message: string };

/** What the links of this feed were asked for with: another drive, scope or reading of the answer makes them useless (D18). */
export function linkMadeWith({ cloud }: Pick<Graph, 'cloud'>, driveId: string): string {
  return `1 ${cloud.baseUrl} /drives/${driveId}/root/delta`;
}

/**
 * Reads what has changed in a drive behind a link, page by page to the end (D15, bugs 11, 42). Without a link, or where
 * the service no longer takes it, it asks where the feed ends now and reads nothing (D2, D19).
 *
 * Throws `GraphError` for everything else: then nothing has been concluded, and the link is to be used again (D23).
 */
export async function readChanges(graph: Graph, wanted: ChangesWanted): Promise<ChangesRead> {
  const { link } = wanted;
  if (link === null) return startAfresh(graph, wanted, 'changes are read from now on');
  try {
    return await readToEnd(graph, link, wanted);
  } catch (error) {
    if (!isLinkDead(error)) throw error;
    return startAfresh(graph, wanted, 'the service no longer takes the place from which changes were read');
  }
}

/** `Location` is not followed: it has answered 500 (bug 12), and a new link with a look at everything needs no enumeration. */
async function startAfresh(graph: Graph, wanted: ChangesWanted, reason: string): Promise<ChangesRead> {
  const latest = `/drives/${encodeURIComponent(wanted.driveId)}/root/delta?token=latest`;
  try {
    const read = await readToEnd(graph, latest, wanted);
    return read.kind === 'changes' ? { kind: 'fresh', link: read.link, reason } : read;
  } catch (error) {
    if (!isUnsupported(error)) throw error;
    return {
      kind: 'unsupported',
      message: `This drive does not tell of its changes (${describe(error)}); they are found by the timer.`,
    };
  }
}

async function readToEnd(graph: Graph, first: string, wanted: ChangesWanted): Promise<ChangesRead> {
  const { onPage, limits = usualLimits } = wanted;
  const round = new Round(limits);
  for (let target = first; ;) {
    const { body } = await graph.call({ target, units: 1 });
    const page = readChangePage(body);
    round.take(page);
    onPage?.(round.pages, round.items);
    const { changes, tooMany } = round;
    if (page.next === null) return { kind: 'changes', changes, tooMany, link: page.delta };
    const message = round.whyStuck(page.next);
    if (message !== null) return { kind: 'stuck', changes, message };
    target = page.next;
  }
}

/** What the pages of one round have brought so far: per id what was said last (D3). */
class Round {
  pages = 0;
  items = 0;
  tooMany = false;
  #stalePages = 0;
  readonly #links = new Set<string>();
  readonly #byId = new Map<string, DriveChange>();
  readonly #limits: FeedLimits;

  constructor(limits: FeedLimits) {
    this.#limits = limits;
  }

  get changes(): DriveChange[] {
    return [...this.#byId.values()];
  }

  take({ changes, items }: ChangePage): void {
    const before = this.#byId.size;
    this.pages += 1;
    this.items += items;
    for (const change of changes) this.#keep(change);
    const isNew = this.#byId.size > before || (this.tooMany && changes.length > 0);
    this.#stalePages = isNew ? 0 : this.#stalePages + 1;
  }

  /** Why following this link would lead nowhere; null where it may be followed. */
  whyStuck(next: string): string | null {
    if (this.#links.has(next)) return 'The service names the same next page again and again.';
    this.#links.add(next);
    const { stalePages, pages } = this.#limits;
    if (this.#stalePages >= stalePages) {
      return `The service has sent ${stalePages} pages in a row with nothing new.`;
    }
    return this.pages < pages ? null : `The changes do not end after ${pages} pages.`;
  }

  #keep(change: DriveChange): void {
    if (this.#byId.has(change.id) || this.#byId.size < this.#limits.changes)
      this.#byId.set(change.id, change);
    else this.tooMany = true;
  }
}

/** 410 on any page, or one of the codes for it at any depth and status (D19); a link that is refused or leads nowhere is no better. */
function isLinkDead(error: unknown): error is GraphError {
  if (!(error instanceof GraphError)) return false;
  if (error.trouble === 'gone' || error.trouble === 'missing' || error.status === 400) return true;
  return error.codes.some((code) => /^(resync|syncStateNotFound$)/i.test(code));
}

function isUnsupported(error: unknown): error is GraphError {
  return error instanceof GraphError && [400, 405, 501].includes(error.status ?? 0);
}

function describe({ status, codes, requestId }: GraphError): string {
  return [String(status), codes[0], requestId && `request ${requestId}`].filter(Boolean).join(', ');
}
