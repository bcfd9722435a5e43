import { shorten } from '../cli/output/fit.ts';
import { columnsOf } from '../cli/output/text-look.ts';

const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const frameMs = 100;

/** What a terminal takes to begin a line anew. */
const clearLine = '\r\u001b[K';

/** One line on a terminal that says what is under way and is gone when it is stopped. It moves no cursor but along its line. */
export class Spinner implements Disposable {
  readonly #stream: NodeJS.WriteStream;
  readonly #clear = () => this.stop();
  #timer: NodeJS.Timeout | null = null;
  #frame = 0;

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream;
  }

  show(text: string): void {
    this.stop();
    const draw = () => {
      const frame = frames[this.#frame++ % frames.length];
      this.#stream.write(`${clearLine}${frame} ${shorten(text, columnsOf(this.#stream) - 3)}`);
    };
    this.#timer = setInterval(draw, frameMs).unref();
    process.once('exit', this.#clear); // A second Ctrl-C ends the process at once.
    draw();
  }

  stop(): void {
    if (this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
    process.off('exit', this.#clear);
    this.#stream.write(clearLine);
  }

  [Symbol.dispose](): void {
    this.stop();
  }
}
