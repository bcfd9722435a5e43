import { setTimeout as sleep } from 'node:timers/promises';
import type { ExchangeLimits } from './exchange.ts';

/** Everything about time and chance, so that tests need not wait. */
export interface GraphHabits {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Rejects when the signal aborts. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  /** From 0 up to 1. */
  readonly random: () => number;
  readonly json: ExchangeLimits;
  /** `maxBytes` comes with each download. */
  readonly content: Omit<ExchangeLimits, 'maxBytes'>;
  /** For one token, its own retries included. */
  readonly tokenMs: number;
  /** Times that one operation is tried where nothing tells how long to wait. */
  readonly tries: number;
  /** Times that one operation waits because it was told to. */
  readonly waits: number;
  readonly backoffMs: number;
  readonly longestBackoffMs: number;
}

export const usualHabits: GraphHabits = {
  now: Date.now,
  sleep: (ms, signal) => sleep(ms, undefined, { signal }),
  random: Math.random,
  json: { headMs: 10_000, silenceMs: 10_000, wholeMs: 30_000, maxBytes: 8 * 1024 * 1024 },
  content: { headMs: 10_000, silenceMs: 10_000, wholeMs: 60_000 },
  tokenMs: 30_000,
  tries: 4,
  waits: 3,
  backoffMs: 500,
  longestBackoffMs: 8_000,
};
