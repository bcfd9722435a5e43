import { setTimeout as sleep } from 'node:timers/promises';
import { changeOf, type StreamEvent } from '../event-stream.ts';
import { monotonicMs, type LineFile } from '../history/line-file.ts';
import { placeOf, toSubscribers, type StreamFilter, type StreamLine } from '../history/stream-record.ts';
import { transports } from './transports.ts';

export interface SubscriberOptions {
  readonly name: string;
  readonly transport: keyof typeof transports;
  /** The API it asks, by name and by address. */
  readonly process: string;
  readonly url: string;
  readonly key: string;
  readonly filter: StreamFilter;
  /** Behind which number it begins where its book says nothing yet; null: from now on. */
  readonly begin: number | null;
}

/**
 * Follows until the signal, and comes back behind what it was told last however its stream ends. Every line goes to the
 * book before anything else is done, so that one who is killed goes on from there.
 */
export async function subscribe(
  options: SubscriberOptions,
  book: LineFile<StreamLine>,
  signal: AbortSignal,
): Promise<void> {
  const { name: subscriber, filter, process, begin } = options;
  let after = knownPlace(options, book) ?? begin;
  while (!signal.aborted) {
    book.append({ line: 'opened', subscriber, at: monotonicMs(), process, filter, after });
    let why = 'the stream ended';
    try {
      for await (const event of transports[options.transport]({ ...options, after, signal })) {
        const line = lineOf(subscriber, event);
        if (line === null) continue;
        book.append(line);
        after = line.line === 'place' ? line.id : line.change.sequence;
      }
    } catch (error) {
      why = error instanceof Error ? error.message : String(error);
    }
    book.append({ line: 'cut', subscriber, at: monotonicMs(), why });
    await sleep(50 + Math.random() * 150);
  }
}

function knownPlace({ name }: SubscriberOptions, book: LineFile<StreamLine>): number | null {
  const [known] = toSubscribers(book.read().filter(({ subscriber }) => subscriber === name));
  return known === undefined ? null : placeOf(known);
}

/** Null for what tells nothing: a comment, the end. Throws the errors that a stream tells. */
function lineOf(subscriber: string, event: StreamEvent) {
  const at = monotonicMs();
  const id = event.id === null ? null : Number(event.id);
  if (event.event === 'next') {
    if (event.data?.errors) throw new Error(JSON.stringify(event.data.errors));
    return { line: 'came', subscriber, at, id, change: changeOf(event) } as const;
  }
  return id === null ? null : ({ line: 'place', subscriber, at, id } as const);
}
