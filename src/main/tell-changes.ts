import { setTimeout as sleep } from 'node:timers/promises';
import { KnowledgeError, messageOf } from '../core/errors.ts';
import type { CallContext } from '../operations/context.ts';
import { followEverything } from '../operations/follow-knowledge.ts';
import type { Change } from '../store/changes.ts';
import { describeChange } from './describe-change.ts';
import { readChangeFacts } from './read-change-facts.ts';
import type { ScreenLine } from './screen-line.ts';

/** Milliseconds until the log is followed anew. */
const pauseMs = 1000;

/**
 * Tells each new version, activation, hold and release, whichever process made it, once and in order, from now until it is
 * closed. While the database is away it waits; where another one has taken its place it goes on from there.
 */
export async function tellChanges(
  call: CallContext,
  tell: (line: ScreenLine) => void,
): Promise<AsyncDisposable> {
  const closing = new AbortController();
  let changes: AsyncIterator<Change> | null = await followEverything(call);
  const follow = async () => {
    while (!closing.signal.aborted) {
      try {
        changes ??= await followEverything(call);
        for (let next = await changes.next(); !next.done; next = await changes.next())
          tell(describeChange(next.value, await readChangeFacts(call, next.value)));
        return; // It was closed.
      } catch (error) {
        if (!isPassing(error)) throw error;
      }
      changes = null;
      await sleep(pauseMs, undefined, { signal: closing.signal }).catch(() => undefined);
    }
  };
  const following = follow().catch((error: unknown) => {
    tell({ text: `New versions and activations are no longer shown: ${messageOf(error)}`, tone: 'bad' });
  });
  return {
    async [Symbol.asyncDispose]() {
      closing.abort();
      await changes?.return?.();
      await following;
    },
  };
}

/** The database is away, or it is another one now. */
function isPassing(error: unknown): boolean {
  return error instanceof KnowledgeError && ['UNAVAILABLE', 'RESET'].includes(error.code);
}
