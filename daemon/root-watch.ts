import { messageOf, SourceError } from '../src/core/errors.ts';
import type { Logger } from '../src/core/logger.ts';
import type { Context } from '../src/operations/context.ts';
import type { Looker } from '../src/operations/refresh-knowledge.ts';
import type { Clock } from './clock.ts';
import { RootGuard, type RootChange } from './root-guard.ts';
import { RootNews } from './root-news.ts';
import type { WatchedSource } from './watched-source.ts';

export interface RootWatchOptions {
  readonly context: Context;
  readonly looker: Looker;
  readonly identity: { readonly host: string };
  readonly clock: Clock;
  readonly logger: Logger;
  readonly watchEnvironments: readonly string[];
  readonly watched: Pick<WatchedSource, 'root'>;
  readonly onAlarm?: (text: string) => void;
  /** The required files of every enabled agent, named from the root. */
  readonly required: () => Iterable<string>;
  /** There is something to tell the database. */
  readonly onNews: () => void;
  /** The root is well after it was not: what happened meanwhile was not looked at. */
  readonly onReturned: () => void;
}

/** Watches the source's root and tells what becomes of it. */
export class RootWatch {
  readonly guard: RootGuard;
  readonly #options: RootWatchOptions;
  readonly #news: RootNews;

  constructor(options: RootWatchOptions) {
    this.#options = options;
    const { looker, identity, watched, clock, logger, onAlarm = () => undefined } = options;
    this.guard = new RootGuard({
      ...watched.root,
      see: () => watched.root.see(options.required()),
      clock,
      onChange: (change) => this.#onChange(change),
      onError: (error) => {
        // A source that is closed with this daemon is no trouble.
        const isClosed = error instanceof SourceError && error.next === 'stop';
        if (!isClosed) logger.error(`the root could not be observed: ${messageOf(error)}`);
      },
    });
    const teller = { looker, root: watched.root.path, host: identity.host };
    this.#news = new RootNews({ ...options, teller, onLine: onAlarm });
  }

  /** The registry lists other files, and other packages may be watched. */
  startAnew(): void {
    this.guard.expectAnew();
    this.#news.repeat();
    this.#options.onNews();
  }

  /** Tells the database what it has not been told yet; throws where it cannot take it, and keeps it. */
  tell(): Promise<void> {
    return this.#news.tell();
  }

  #onChange(change: RootChange): void {
    this.#news.note(change);
    this.#options.onNews();
    if (change.from !== null && change.to === 'ok') this.#options.onReturned();
  }
}
