import { isAsReported } from './as-reported.ts';
import type { DriveItem } from './drive-item.ts';
import type { Downloaded } from './graph.ts';

export interface MismatchHabits {
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<unknown>;
}

export interface Mismatched {
  /** As it was when the first bytes were downloaded. */
  readonly item: DriveItem;
  readonly first: Uint8Array;
  readonly download: () => Promise<Downloaded>;
  /** The item as it is now; null where it is gone. */
  readonly readAgain: () => Promise<DriveItem | null>;
  readonly habits: MismatchHabits;
}

/**
 * What became of a mismatch. `verified`: the item says the same as before, and the bytes are now as it says; `steady`: they
 * never are, and are the same each time; `changed`: the item was changed meanwhile.
 */
export type Settled =
  | { readonly state: 'verified' | 'steady'; readonly bytes: Uint8Array }
  | { readonly state: 'changed' | 'too_large' }
  | { readonly state: 'unsteady'; readonly downloads: number };

/** So many downloads must agree, over so long, before bytes are taken that are not as reported (C10). */
const agreeing = 4;
const agreeingMs = 10_000;

/** Waits before further downloads, milliseconds: the four that must agree take ten seconds, and after eight it ends. */
const waitsMs = [1000, 3000, 6100, 1000, 3000, 6100, 3000];

/**
 * Finds out what to make of bytes that are not as the drive says: metadata and content are read again until they agree, the
 * item changes, or the bytes have stayed the same for long enough, at most seven times. Throws what the readers throw.
 */
export async function settleMismatch(mismatched: Mismatched): Promise<Settled> {
  const { item, download, readAgain, habits } = mismatched;
  let bytes = mismatched.first;
  let [same, since] = [1, habits.now()];
  for (const waitMs of waitsMs) {
    await habits.sleep(waitMs);
    const now = await readAgain();
    // It has settled, or somebody wrote: the look begins anew with what it says now.
    if (now === null || !isUnchanged(item, now)) return { state: 'changed' };
    const next = await download();
    if (!next.whole) return { state: 'too_large' };
    if (isAsReported(now, next.bytes)) {
      const isTold = now.quickXorHash === item.quickXorHash && now.sizeBytes === item.sizeBytes;
      return isTold ? { state: 'verified', bytes: next.bytes } : { state: 'changed' };
    }
    if (Buffer.compare(bytes, next.bytes) === 0) same += 1;
    else [same, since] = [1, habits.now()];
    bytes = next.bytes;
    if (same >= agreeing && habits.now() - since >= agreeingMs) return { state: 'steady', bytes };
  }
  return { state: 'unsteady', downloads: waitsMs.length + 1 };
}

/** The eTag stands for everything: with the same one, what else is told and differs is another lie (C10). */
function isUnchanged(before: DriveItem, now: DriveItem): boolean {
  if (before.eTag !== null) return before.id === now.id && before.eTag === now.eTag;
  const parts = ['id', 'eTag', 'cTag', 'sizeBytes', 'quickXorHash'] as const;
  return parts.every((part) => before[part] === now[part]);
}
