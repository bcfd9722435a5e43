import { setTimeout as sleep } from 'node:timers/promises';

/** Time as the daemon sees it, an argument so that no test waits for real time. */
export interface Clock {
  /** Milliseconds, monotonic. */
  now(): number;
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  sleep: async (ms, signal) => {
    await sleep(Math.max(0, ms), undefined, signal ? { signal } : undefined);
  },
};
