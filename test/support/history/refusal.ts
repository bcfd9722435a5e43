import type { Outcome } from './record.ts';

/**
 * What a refusal says of the change that was asked for. Most are said before anything is done; `UNAVAILABLE` says in
 * words whether it is known, and whoever says that nothing was changed is held to it (C3).
 */
export function refused({ code, message, current }: Refusal): Outcome {
  const certain =
    code === 'UNAVAILABLE' ? /nothing was (changed|written)/i.test(message) : code !== 'INTERNAL';
  const result = { note: `${code}: ${message}`, ...(current === undefined ? {} : { current }) };
  return { end: certain ? 'fail' : 'unknown', result };
}

interface Refusal {
  readonly code: string;
  readonly message: string;
  /** A CONFLICT's. */
  readonly current?: number | null;
}
