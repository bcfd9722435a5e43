import { messageOf } from '../src/core/errors.ts';
import type { Logger } from '../src/core/logger.ts';
import type { NoticeReceiver } from '../src/core/notice-delivery.ts';
import type { Context } from '../src/operations/context.ts';
import { deliverNotice, type DeliveryResult } from '../src/operations/deliver-notice.ts';
import { queueNotices } from '../src/operations/queue-notices.ts';
import type { Pause } from './pause.ts';

export interface NoticeKeeperOptions {
  readonly context: Context;
  readonly receiver: NoticeReceiver;
  readonly logger: Logger;
  /** Its sleep between two rounds; whoever knows of something to tell wakes it. */
  readonly pause: Pause;
  /** See `deliverNotice`. */
  readonly retrySeconds?: readonly number[];
}

/** How often it is asked whether there is something to tell. */
const roundMs = 2000;

/** Notices under way at once; looks have workers of their own. */
const noticesAtOnce = 2;

/**
 * Tells the receiver what the audit log says and which sources have gone stale, while it lives. It keeps nothing: what is
 * to be told stands in the database, so any number of them may live and die.
 */
export class NoticeKeeper implements AsyncDisposable {
  readonly #options: NoticeKeeperOptions;
  readonly #stop = new AbortController();
  #rounds: Promise<void> = Promise.resolve();

  private constructor(options: NoticeKeeperOptions) {
    this.#options = options;
  }

  static async start(options: NoticeKeeperOptions): Promise<NoticeKeeper> {
    const keeper = new NoticeKeeper(options);
    await options.context.queue.workNotices((id) => keeper.#deliver(id), noticesAtOnce);
    keeper.#rounds = keeper.#roundForever();
    return keeper;
  }

  /** Ends what is under way: what may or may not have arrived is sent again by the next one. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#rounds;
  }

  async #roundForever(): Promise<void> {
    const { pause, context, logger } = this.#options;
    for (let failed = false; !this.#stop.signal.aborted;) {
      try {
        await queueNotices(context);
        if (failed) logger.warn('notices are made again');
        failed = false;
      } catch (error) {
        // Once, and then when it is over: nothing is lost meanwhile.
        if (!failed) logger.error(`notices could not be made: ${messageOf(error)}`);
        failed = true;
      }
      await pause.sleep(roundMs, this.#stop.signal);
    }
  }

  async #deliver(id: string): Promise<void> {
    const { context, receiver, retrySeconds } = this.#options;
    const signal = this.#stop.signal;
    const result = await deliverNotice(context, {
      id,
      receiver,
      signal,
      ...(retrySeconds ? { retrySeconds } : {}),
    });
    if (result !== null) this.#tell(id, result);
  }

  #tell(id: string, { type, attempt, fate }: DeliveryResult): void {
    const { logger, receiver } = this.#options;
    const fields = { id, type, host: receiver.host, attempt };
    switch (fate.next) {
      case 'delivered':
        return logger.debug('a notice was delivered', fields);
      case 'again':
        return logger.warn('a notice was not delivered and is tried again', {
          ...fields,
          afterSeconds: fate.afterSeconds,
          error: fate.error,
        });
      case 'dead':
        return logger.error('a notice is dead: it is tried no more', { ...fields, error: fate.error });
      case 'back':
        return;
      default:
        return fate satisfies never;
    }
  }
}
