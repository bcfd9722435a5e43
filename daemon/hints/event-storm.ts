import type { Clock } from '../clock.ts';
import { sleepUntil } from '../pause.ts';

/** More events than this in a second are no longer told one by one. */
const mostPerSecond = 1000;
const windowMs = 1000;

/**
 * Notices when events come so thick that hinting at each would only cost, and that some may be lost: the kernel's queue
 * runs over without a word reaching us (W09). One hint at everything when the second is over stands for all of them.
 */
export class EventStorm {
  readonly #clock: Clock;
  readonly #onOver: () => void;
  #startedAt = -Infinity;
  #count = 0;
  #raging = false;

  constructor(clock: Clock, onOver: () => void) {
    this.#clock = clock;
    this.#onOver = onOver;
  }

  /** Whether a hint at everything is going to come. */
  get raging(): boolean {
    return this.#raging;
  }

  count(signal: AbortSignal): void {
    const now = this.#clock.now();
    if (now - this.#startedAt >= windowMs) {
      this.#startedAt = now;
      this.#count = 0;
    }
    this.#count += 1;
    if (this.#count <= mostPerSecond || this.#raging) return;
    void this.#rage(signal);
  }

  async #rage(signal: AbortSignal): Promise<void> {
    this.#raging = true;
    await sleepUntil(this.#clock, windowMs, signal);
    this.#raging = false;
    if (!signal.aborted) this.#onOver();
  }
}
