/** Milliseconds before a watcher that failed is built anew: none at first, then 5 s, doubling up to 60 s. */
const firstMs = 5000;
const mostMs = 60_000;

/** Milliseconds without a failure after which the count starts afresh. */
const steadyMs = 600_000;

/** How long to wait before a watcher is built anew, given when the ones before it failed. */
export class RebuildDelay {
  #failures = 0;
  #lastAt = -Infinity;

  /** Notes a failure; answers the milliseconds to wait. */
  fail(now: number): number {
    if (now - this.#lastAt > steadyMs) this.#failures = 0;
    this.#lastAt = now;
    this.#failures += 1;
    return this.#failures === 1 ? 0 : Math.min(mostMs, firstMs * 2 ** (this.#failures - 2));
  }

  /** Whether the last failure came not long after another. */
  get isRepeated(): boolean {
    return this.#failures > 1;
  }
}
