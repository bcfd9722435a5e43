import type { Settings } from '../../config/settings.ts';
import { bannerOf, type BannerFacts } from './banner.ts';
import { plainLine } from './plain-log.ts';

/**
 * What `start` shows a person: the banner first, then one line per event with the time. What happens before the banner
 * is shown below it.
 */
export class Screen {
  readonly #settings: Settings;
  #early: string[] | null = [];
  #last = '';

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  /** One event. The same words twice in a row, told and logged by one part, are one. */
  tell(text: string): void {
    if (text === this.#last) return;
    this.#last = text;
    if (this.#early) this.#early.push(text);
    else console.log(`${new Date().toTimeString().slice(0, 8)}  ${text}`);
  }

  /** A line of a part's log: in a person's words, or as it is where the settings ask for more than usual. */
  log(line: string): void {
    if (this.#settings.logLevel === 'debug') console.error(line);
    else if (plainLine(line) === line) console.error(line);
    else this.tell(plainLine(line));
  }

  showBanner(facts: BannerFacts): void {
    console.log(bannerOf(this.#settings, facts));
    this.flush();
  }

  /** Shows what waits for the banner, also where there will be none. */
  flush(): void {
    const early = this.#early ?? [];
    this.#early = null;
    this.#last = '';
    for (const text of early) this.tell(text);
  }

  /** The database has a live admin key and this folder does not hold it; `trouble`: what it holds instead. */
  showLostKey(trouble: string): void {
    console.log(
      `\n${trouble} Make another one and put it there:\n  npx agent-knowledge keys create --name admin --scope admin`,
    );
  }
}
