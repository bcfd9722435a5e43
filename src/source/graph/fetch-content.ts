import { sha256 } from '../../core/checksum.ts';
import type { Sha256 } from '../../core/package.ts';
import { quote } from '../../core/quote.ts';
import { isAsReported } from './as-reported.ts';
import type { DriveItem } from './drive-item.ts';
import { GraphError } from './graph-error.ts';
import { describeRefusal } from './graph-words.ts';
import type { Downloaded, Graph } from './graph.ts';
import { contentById } from './item-path.ts';
import { settleMismatch, type MismatchHabits, type Settled } from './mismatch.ts';

export interface ContentWanted {
  readonly driveId: string;
  /** As the registry spells it, for what is said of it. */
  readonly path: string;
  readonly item: DriveItem;
  readonly maxBytes: number;
  /** The item as it is now; null where it is gone. */
  readonly readAgain: () => Promise<DriveItem | null>;
  readonly habits: MismatchHabits;
  /** What its bytes were when they were found to be served steadily and reported otherwise, under this very eTag; null else. */
  readonly steady: Sha256 | null;
}

/**
 * What downloading came to. `changed`: the item is gone or another one, so the look begins anew. `unverified`: bytes that the
 * service serves steadily and reports otherwise (C10).
 */
export type Fetched =
  | { readonly state: 'content'; readonly bytes: Uint8Array; readonly unverified: boolean }
  | { readonly state: 'too_large'; readonly message: string }
  /** `isUnsteady`: no two downloads are the same for long. */
  | { readonly state: 'refused'; readonly message: string; readonly isUnsteady: boolean }
  | { readonly state: 'changed' };

/**
 * Downloads a file's exact bytes, at most one more than are accepted, and takes them only where length and hash are what the
 * drive says of it (C9, bugs 4, 20, 23, 24). Throws `GraphError` where the service did not answer.
 */
export async function fetchContent(graph: Pick<Graph, 'download'>, wanted: ContentWanted): Promise<Fetched> {
  const { driveId, item, maxBytes, readAgain, habits } = wanted;
  const download = (): Promise<Downloaded> => graph.download(contentById(driveId, item.id), maxBytes);
  try {
    const first = await download();
    if (!first.whole || first.bytes.length > maxBytes) return tooLarge(wanted);
    if (isAsReported(item, first.bytes)) return { state: 'content', bytes: first.bytes, unverified: false };
    if (sha256(first.bytes) === wanted.steady)
      return { state: 'content', bytes: first.bytes, unverified: true };
    return answerFor(wanted, await settleMismatch({ item, first: first.bytes, download, readAgain, habits }));
  } catch (error) {
    return fateOf(wanted, error);
  }
}

function answerFor(wanted: ContentWanted, settled: Settled): Fetched {
  const file = quote(wanted.path, 400);
  switch (settled.state) {
    case 'verified':
      return { state: 'content', bytes: settled.bytes, unverified: false };
    case 'steady':
      return { state: 'content', bytes: settled.bytes, unverified: true };
    case 'too_large':
      return tooLarge(wanted);
    case 'changed':
      return { state: 'changed' };
    case 'unsteady': {
      const message = `${file} cannot be read: in ${settled.downloads} downloads the drive served other bytes than the length and the hash it reports, and not the same ones.`;
      return { state: 'refused', message, isUnsteady: true };
    }
    default:
      return settled satisfies never;
  }
}

function tooLarge({ path, item: { sizeBytes }, maxBytes }: ContentWanted): Fetched {
  // A size that is reported too small is no better than none.
  const size =
    sizeBytes !== null && sizeBytes > maxBytes ? `${sizeBytes} bytes` : `more than ${maxBytes} bytes`;
  const message = `${quote(path, 400)} has ${size}; at most ${maxBytes} are accepted.`;
  return { state: 'too_large', message };
}

/** A file that is refused by itself is that file's trouble (C14); everything else is the service's. */
function fateOf({ path }: ContentWanted, error: unknown): Fetched {
  if (!(error instanceof GraphError)) throw error;
  if (error.trouble === 'missing') return { state: 'changed' };
  if (!['forbidden', 'locked', 'refused', 'gone'].includes(error.trouble)) throw error;
  const message = `${quote(path, 400)} is there and its content is refused: ${describeRefusal(error)}.`;
  return { state: 'refused', message, isUnsteady: false };
}
