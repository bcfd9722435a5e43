import { isNoSpace } from '../src/core/no-space.ts';
import type { Logger } from '../src/core/logger.ts';

/** Tells once that nothing is captured for want of space, and once that it is again, however many looks meet it (T44). */
export class SpaceAlarm {
  readonly #logger: Logger;
  #raised = false;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Takes the errors of looks that mean a full disk, and answers whether this is one. */
  raise(error: unknown): boolean {
    if (!isNoSpace(error)) return false;
    if (!this.#raised) this.#logger.error(`nothing is captured: ${error.message}`);
    this.#raised = true;
    return true;
  }

  /** A version was stored. At the level of the trouble it ends, so that whoever saw the one sees the other. */
  clear(): void {
    if (this.#raised) this.#logger.error('there is space again; what has changed meanwhile is captured now');
    this.#raised = false;
  }
}
