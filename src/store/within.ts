import { setTimeout as sleep } from 'node:timers/promises';
import { KnowledgeError } from '../core/errors.ts';

/**
 * The database's answer, where it comes in so many milliseconds, else `UNAVAILABLE`; an error of its own where `signal` comes before.
 * For connections that can go dead without a word: what was asked is not taken back, and its answer is looked at no more.
 */
export async function within<T>(work: Promise<T>, milliseconds: number, signal?: AbortSignal): Promise<T> {
  const done = new AbortController();
  const until = signal === undefined ? done.signal : AbortSignal.any([done.signal, signal]);
  const late = sleep(milliseconds, undefined, { signal: until }).then(() => {
    throw new KnowledgeError(
      'UNAVAILABLE',
      `The database does not answer: nothing came within ${milliseconds} ms. Ask again in a moment.`,
    );
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    done.abort();
    // Whichever of them comes later has nobody who waits for it.
    late.catch(() => undefined);
    work.catch(() => undefined);
  }
}
