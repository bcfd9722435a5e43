const firstMs = 500;
const mostMs = 30_000;

/** Milliseconds before an attempt to start again what has ended, the first one being 0: half a second, doubling to 30 s. */
export function backOffMs(attempt: number): number {
  return Math.min(firstMs * 2 ** attempt, mostMs);
}
