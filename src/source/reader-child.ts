/**
 * The process that opens the files of a source, so that a file or a disk that never answers can be killed together
 * with it (K-006, findings 4 and 5). It knows nothing but what a request says, and ends with its parent.
 */
import { SourceError, messageOf } from '../core/errors.ts';
import { lookBeneathRoot } from './look-beneath-root.ts';
import type { LookRequest } from './look-steps.ts';
import type { FromReader } from './reader-process.ts';

process.on('message', (request: LookRequest) => {
  void look(request);
});
process.on('disconnect', () => process.exit());
// Ctrl-C reaches the whole process group; when a look is cut off is for the parent to say.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
await send({ kind: 'ready' });

async function look(request: LookRequest): Promise<void> {
  try {
    for await (const step of lookBeneathRoot(request)) await send(step);
  } catch (error) {
    const next = error instanceof SourceError ? error.next : 'retry';
    await send({ kind: 'failed', next, message: messageOf(error) });
  }
}

/** Resolves when the message is on its way: no more than one file waits in this process. */
function send(message: FromReader): Promise<void> {
  return new Promise((resolve) => {
    process.send?.(message, undefined, undefined, () => resolve());
  });
}
