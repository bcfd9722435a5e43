import type { Logger } from '../src/core/logger.ts';
import type { Context } from '../src/operations/context.ts';
import { auditRoot, noteRoot, type RootNotice, type RootTeller } from '../src/operations/report-root.ts';
import type { RootChange } from './root-guard.ts';

export interface RootNewsOptions {
  readonly context: Context;
  readonly teller: RootTeller;
  readonly watchEnvironments: readonly string[];
  readonly logger: Logger;
  /** One line for whoever watches a terminal. */
  readonly onLine: (text: string) => void;
}

/**
 * Tells the log, the terminal, every watched package's status and the audit log what becomes of the root. What the
 * database could not take is kept and told at the next call, in order, so that no alarm is lost with it.
 */
export class RootNews {
  readonly #options: RootNewsOptions;
  #untold: { readonly notice: RootNotice; readonly alarm: string | null }[] = [];
  /** How the root is, until every package's status says so. */
  #status: RootChange | null = null;
  #last: RootChange | null = null;
  #telling: Promise<void> = Promise.resolve();

  constructor(options: RootNewsOptions) {
    this.#options = options;
  }

  note(change: RootChange): void {
    this.#last = change;
    this.#status = change.to === 'ok' ? null : change;
    const notice = noticeOf(change);
    // Lost at the start may be no news: what the audit log says decides.
    const alarm = change.from === null && change.to === 'missing' ? alarmOf(change) : null;
    if (notice !== null) this.#untold.push({ notice, alarm });
    this.#say(change);
  }

  /** Has every package's status told again, since others may be watched now. */
  repeat(): void {
    if (this.#last?.to !== 'ok') this.#status = this.#last;
  }

  /** Tells the database what it has not been told yet; throws where it cannot take it, and keeps it. */
  tell(): Promise<void> {
    const telling = this.#telling.then(() => this.#tellNow());
    this.#telling = telling.catch(() => undefined); // The caller is told.
    return telling;
  }

  async #tellNow(): Promise<void> {
    const { context, teller, watchEnvironments, logger } = this.#options;
    for (let next = this.#untold[0]; next !== undefined; next = this.#untold[0]) {
      const isNews = await auditRoot(context, teller, next.notice);
      this.#untold.shift();
      if (next.alarm !== null && isNews) this.#alarm(next.alarm);
      else if (next.alarm !== null) logger.warn(`as before the daemon started: ${next.alarm}`);
    }
    const status = this.#status;
    if (status === null || status.to === 'ok') return;
    const message = status.trouble?.message ?? null;
    await noteRoot(context, watchEnvironments, { state: status.to, message });
    if (this.#status === status) this.#status = null;
  }

  #say(change: RootChange): void {
    const { logger } = this.#options;
    const message = change.trouble?.message ?? '';
    switch (change.to) {
      case 'suspect':
        return logger.warn(`the knowledge folder looks lost and is looked at again: ${message}`);
      case 'missing':
        if (change.from === null) return;
        if (change.from === 'returned') return logger.warn(`the knowledge folder is lost again: ${message}`);
        return this.#alarm(alarmOf(change));
      case 'returned':
        return logger.info('the knowledge folder is there again and must be quiet first');
      case 'ok': {
        if (change.from === null) return;
        const words = change.exchanged
          ? 'the knowledge folder is well; it is another folder than before'
          : 'the knowledge folder is well again';
        // At the level of the trouble it ends, so that whoever saw the one sees the other.
        return change.lost ? this.#alarm(words) : logger.warn(words);
      }
      default:
        return change.to satisfies never;
    }
  }

  #alarm(text: string): void {
    this.#options.logger.error(text);
    this.#options.onLine(text);
  }
}

function alarmOf(change: RootChange): string {
  return `the knowledge folder is lost; nothing is captured and what is active stays active. ${change.trouble?.message ?? ''} It is taken up again by itself.`;
}

function noticeOf(change: RootChange): RootNotice | null {
  if (change.to === 'missing') return { kind: 'lost', reason: change.trouble?.reason ?? 'absent' };
  if (change.to !== 'ok') return null;
  if (change.from === null) return { kind: 'well', identity: change.identity };
  if (!change.lost && !change.exchanged) return null;
  return { kind: 'returned', identity: change.identity, identityChanged: change.exchanged };
}
