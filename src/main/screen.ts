import type { Settings } from '../../config/settings.ts';
import { paintColoured, paintPlain, takesColour } from '../cli/output/colour.ts';
import { columnsOf, type TextLook } from '../cli/output/text-look.ts';
import { bannerOf, type BannerFacts } from './banner.ts';
import { isStructured, plainLine, toneOf } from './plain-log.ts';
import { formatEvent, type ScreenLine } from './screen-line.ts';
import { Spinner } from './spinner.ts';

/**
 * What `start` shows a person: what it is doing until it works, then the banner, then one event after the other with the
 * time. What happens before the banner is shown below it.
 */
export class Screen {
  readonly #settings: Settings;
  readonly #look: TextLook;
  readonly #spinner = process.stderr.isTTY ? new Spinner(process.stderr) : null;
  #early: ScreenLine[] | null = [];
  #last = '';

  constructor(settings: Settings) {
    this.#settings = settings;
    const isTerminal = process.stdout.isTTY ?? false;
    this.#look = {
      width: isTerminal ? columnsOf(process.stdout) : null,
      paint: takesColour(isTerminal, process.env) ? paintColoured : paintPlain,
    };
  }

  /** What is done now, before everything works; on a terminal it is gone when it is done. */
  step(text: string): void {
    if (this.#spinner !== null) this.#spinner.show(`${text} …`);
    else console.log(`${text} …`);
  }

  /** Something beside the events. */
  print(text: string): void {
    this.#spinner?.stop();
    console.log(text);
  }

  /** One event. The same words twice in a row, told and logged by one part, are one. */
  tell(line: ScreenLine): void {
    if (line.text === this.#last) return;
    this.#last = line.text;
    if (this.#early) this.#early.push(line);
    else console.log(formatEvent(line, new Date(), this.#look));
  }

  /** A line of a part's log: in a person's words, or as it is where the settings ask for more than usual. */
  log(line: string): void {
    if (this.#settings.logLevel !== 'debug' && isStructured(line)) {
      return this.tell({ text: plainLine(line), tone: toneOf(line) });
    }
    this.#spinner?.stop();
    console.error(line);
  }

  showBanner(facts: BannerFacts): void {
    this.print(bannerOf(this.#settings, facts));
    this.flush();
  }

  /** Shows what waits for the banner, also where there will be none. */
  flush(): void {
    this.#spinner?.stop();
    const early = this.#early ?? [];
    this.#early = null;
    this.#last = '';
    for (const line of early) this.tell(line);
  }

  /** The database has a live admin key and this folder does not hold it; `trouble`: what it holds instead. */
  showLostKey(trouble: string): void {
    this.print(
      `\n${trouble} Make another one and put it there:\n  npx agent-knowledge keys create --name admin --scope admin`,
    );
  }
}
