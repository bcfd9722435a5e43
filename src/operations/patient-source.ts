import { setTimeout as sleep } from 'node:timers/promises';
import { SourceError } from '../core/errors.ts';
import type { Source } from '../source/source.ts';

/** A look's retries included; a service that asks for patience gets it from the daemon, not from a person who waits. */
export const lookPatienceMs = 120_000;

/**
 * The source for somebody who waits: a look that takes longer than this is told as one that was not answered, and after it no
 * other is made, since it would take as long. Throws `SourceError`.
 */
export function withPatience(
  source: Pick<Source, 'look' | 'type'>,
  patienceMs: number,
): Pick<Source, 'look' | 'type'> {
  let isOver = false;
  const over = (): SourceError => {
    isOver = true;
    return new SourceError('wait', `The source did not answer within ${patienceMs / 1000} s.`);
  };
  return {
    type: source.type,
    async look(files, options) {
      if (isOver) throw over();
      const answered = new AbortController();
      const { signal } = answered;
      const late = sleep(patienceMs, undefined, { signal }).then(() => {
        throw over();
      });
      try {
        return await Promise.race([source.look(files, options), late]);
      } finally {
        late.catch(() => undefined);
        answered.abort();
      }
    },
  };
}
