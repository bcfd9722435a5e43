import pLimit from 'p-limit';
import { sha256 } from '../../core/checksum.ts';
import type { Finding } from '../../core/finding.ts';
import type { RememberedItem } from '../../core/item-memory.ts';
import type { FileLook } from '../../core/look.ts';
import type { RelativePath, Sha256 } from '../../core/package.ts';
import { quote } from '../../core/quote.ts';
import type { DriveItem } from './drive-item.ts';
import { fetchContent, type ContentWanted, type Fetched } from './fetch-content.ts';
import type { Graph } from './graph.ts';
import { keyInDrive, type DriveLocation } from './item-path.ts';
import { isSameContent, type KnownContents } from './known-contents.ts';
import type { MismatchHabits } from './mismatch.ts';

/** Downloads under way at once, of all looks together (T2). */
const downloadsAtOnce = 4;

/** Files of each kind that are remembered so that they are not downloaded at each look. */
const mostRemembered = 1000;

export interface FileWanted {
  readonly location: DriveLocation;
  readonly path: RelativePath;
  readonly item: DriveItem;
  readonly withContent: boolean;
  readonly maxBytes: number;
  readonly readAgain: () => Promise<DriveItem | null>;
}

/**
 * How long a file is not downloaded again, unless its eTag is another one, whose downloads never agreed, or that the drive still
 * reports in other ways than it is (C10).
 */
const restMs = 5 * 60_000;

/** What one file that is there was read as. */
export type ReadContent =
  | {
      readonly state: 'read';
      readonly look: FileLook;
      readonly notices: readonly Finding[];
      /** What is to be noted once the item is known to have stayed the same; null where nothing was downloaded. */
      readonly captured: RememberedItem | null;
      readonly downloaded: boolean;
    }
  | { readonly state: 'changed' };

/** Reads files that are there: from what is known where hash and size are the same, by a download where they are not. */
export class ContentReader {
  readonly #graph: Pick<Graph, 'download'>;
  readonly #known: KnownContents;
  readonly #habits: MismatchHabits;
  readonly #limit = pLimit(downloadsAtOnce);
  readonly #underWay = new Map<string, Promise<Fetched>>();
  readonly #tooLarge = new Map<string, string>();
  /** Of files that are reported wrongly: why they are refused (null: they are not), and until when that stands. */
  readonly #resting = new Map<string, { readonly message: string | null; readonly until: number }>();

  constructor(graph: Pick<Graph, 'download'>, known: KnownContents, habits: MismatchHabits) {
    this.#graph = graph;
    this.#known = known;
    this.#habits = habits;
  }

  /** Throws `GraphError` where the service did not answer. */
  async read(wanted: FileWanted): Promise<ReadContent> {
    const { location, path, item, maxBytes } = wanted;
    const known = (await this.#known.of(location.driveId)).get(keyInDrive(location, path));
    const resting = this.#restOf(wanted);
    if (resting?.message) return refused(path, 'unreadable', resting.message, false);
    const steady = known !== undefined && wasSteady(known, item) ? known : null;
    const isKnown = known !== undefined && isSameContent(known, item);
    const reused = isKnown ? known : resting === null ? null : steady;
    const read = reused === null ? null : await this.#reuse(wanted, reused);
    if (read !== null) return read;
    const key = JSON.stringify([location.driveId, path, item, maxBytes]);
    const message = this.#tooLarge.get(key);
    if (message !== undefined) return refused(path, 'too_large', message, false);
    const fetched = await this.#fetch(wanted, key, steady?.checksum ?? null);
    this.#rest(wanted, fetched, steady);
    return this.#take(wanted, key, fetched);
  }

  #restOf(wanted: FileWanted): { readonly message: string | null } | null {
    const resting = this.#resting.get(tagKey(wanted));
    return resting !== undefined && this.#habits.now() < resting.until ? resting : null;
  }

  /** What has just been found out again and again need not be at each look. */
  #rest(wanted: FileWanted, fetched: Fetched, steady: RememberedItem | null): void {
    if (wanted.item.eTag === null) return;
    const isUnsteady = fetched.state === 'refused' && fetched.isUnsteady;
    const isStillWrong = fetched.state === 'content' && fetched.unverified && steady !== null;
    if (!isUnsteady && !isStillWrong) return;
    if (this.#resting.size >= mostRemembered) this.#resting.clear();
    const until = this.#habits.now() + restMs;
    this.#resting.set(tagKey(wanted), { message: isUnsteady ? fetched.message : null, until });
  }

  /** Null where the bytes are asked for, or must be counted, and are nowhere here. */
  async #reuse(
    { path, withContent, maxBytes }: FileWanted,
    known: RememberedItem,
  ): Promise<ReadContent | null> {
    const { checksum, unverified } = known;
    // What the drive reports of these is not their length.
    const needed = withContent || unverified;
    const content = needed ? await this.#known.contentOf(checksum) : null;
    if (needed && content === null) return null;
    const sizeBytes = content?.length ?? known.sizeBytes;
    if (sizeBytes > maxBytes) return null;
    const look = { state: 'present', relativePath: path, checksum, sizeBytes } as const;
    return {
      state: 'read',
      look: { ...look, content: withContent ? content : null },
      notices: noticesOf(path, unverified),
      captured: null,
      downloaded: false,
    };
  }

  /** Packages may share a file, and then their looks share its download. */
  #fetch(
    { location, path, item, maxBytes, readAgain }: FileWanted,
    key: string,
    steady: Sha256 | null,
  ): Promise<Fetched> {
    const underWay = this.#underWay.get(key);
    if (underWay !== undefined) return underWay;
    const { driveId } = location;
    const habits = this.#habits;
    const wanted: ContentWanted = { driveId, path, item, maxBytes, readAgain, habits, steady };
    const fetching = this.#limit(() => fetchContent(this.#graph, wanted)).finally(() =>
      this.#underWay.delete(key),
    );
    this.#underWay.set(key, fetching);
    return fetching;
  }

  #take({ location, path, item, withContent }: FileWanted, key: string, fetched: Fetched): ReadContent {
    switch (fetched.state) {
      case 'changed':
        return fetched;
      case 'refused':
        return refused(path, 'unreadable', fetched.message, true);
      case 'too_large':
        this.#rememberTooLarge(item, key, fetched.message);
        return refused(path, 'too_large', fetched.message, true);
      case 'content': {
        const { bytes, unverified } = fetched;
        const captured = capturedOf(keyInDrive(location, path), item, fetched);
        const { checksum } = captured;
        this.#known.keep(checksum, bytes);
        const look = { state: 'present', relativePath: path, checksum, sizeBytes: bytes.length } as const;
        const notices = noticesOf(path, unverified);
        return {
          state: 'read',
          look: { ...look, content: withContent ? bytes : null },
          notices,
          captured,
          downloaded: true,
        };
      }
      default:
        return fetched satisfies never;
    }
  }

  /** Only where something would tell of a change. */
  #rememberTooLarge({ eTag, cTag, quickXorHash }: DriveItem, key: string, message: string): void {
    if ((eTag ?? cTag ?? quickXorHash) === null) return;
    if (this.#tooLarge.size >= mostRemembered) this.#tooLarge.clear();
    this.#tooLarge.set(key, message);
  }
}

/** Whether these bytes were once found to be served steadily under the very eTag that the item has. */
function wasSteady(known: RememberedItem, { id, eTag }: DriveItem): boolean {
  return known.unverified && known.itemId === id && known.eTag !== null && known.eTag === eTag;
}

function tagKey({ location, item }: FileWanted): string {
  return JSON.stringify([location.driveId, item.id, item.eTag]);
}

function capturedOf(
  path: string,
  item: DriveItem,
  { bytes, unverified }: Extract<Fetched, { state: 'content' }>,
): RememberedItem {
  const { id: itemId, eTag, cTag, quickXorHash, modifiedAt } = item;
  const sizeBytes = item.sizeBytes ?? bytes.length;
  const tags = { eTag, cTag, sizeBytes, quickXorHash, modifiedAt };
  return { path, itemId, ...tags, checksum: sha256(bytes), unverified };
}

function refused(
  relativePath: RelativePath,
  code: 'unreadable' | 'too_large',
  message: string,
  downloaded: boolean,
): ReadContent {
  const look = { state: 'refused', relativePath, code, message } as const;
  return { state: 'read', look, notices: [], captured: null, downloaded };
}

function noticesOf(path: string, unverified: boolean): readonly Finding[] {
  if (!unverified) return [];
  const message = `The drive reports another length or hash for ${quote(path, 400)} than its content has; the content was the same in four downloads over ten seconds, and was taken.`;
  return [{ code: 'unverified', relativePath: path, line: null, message }];
}
