import { messageOf } from '../../src/core/errors.ts';
import type { Logger } from '../../src/core/logger.ts';
import type { Context } from '../../src/operations/context.ts';
import { keepCursor, recallCursor } from '../../src/operations/drive-cursor.ts';
import { linkMadeWith } from '../../src/source/graph/delta-feed.ts';
import type { Graph } from '../../src/source/graph/graph.ts';

export interface ChangesCursorOptions {
  readonly context: Context;
  readonly graph: Graph;
  readonly logger: Logger;
}

/** How far this daemon has read a drive's changes; the stored one is the last of any daemon, for whoever starts next. */
export class ChangesCursor {
  readonly #options: ChangesCursorOptions;
  #driveId: string | null = null;
  #link: string | null = null;
  #stored: string | null = null;

  constructor(options: ChangesCursorOptions) {
    this.#options = options;
  }

  /** Null until it is known which drive is meant. */
  get driveId(): string | null {
    return this.#driveId;
  }

  /** Where the next round begins; null where the feed is to be begun. */
  get link(): string | null {
    return this.#link;
  }

  /** Turns to this drive, unless it is the one it is at; true where it was at another one. Throws where nothing can be recalled. */
  async turnTo(driveId: string): Promise<boolean> {
    if (driveId === this.#driveId) return false;
    const { context, graph } = this.#options;
    const stored = await recallCursor(context, { driveId, madeWith: linkMadeWith(graph, driveId) });
    const wasElsewhere = this.#driveId !== null;
    this.#driveId = driveId;
    this.#link = stored;
    this.#stored = stored;
    return wasElsewhere;
  }

  /** Goes on from this link. That it is not stored is no trouble: the next start looks at everything anyway. */
  async moveTo(link: string): Promise<void> {
    const { context, graph, logger } = this.#options;
    this.#link = link;
    if (link === this.#stored || this.#driveId === null) return;
    const [driveId, madeWith] = [this.#driveId, linkMadeWith(graph, this.#driveId)];
    try {
      await keepCursor(context, { driveId, link, madeWith });
      this.#stored = link;
    } catch (error) {
      logger.warn('the place from which changes are read could not be stored', { error: messageOf(error) });
    }
  }
}
