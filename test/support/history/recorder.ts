import { LineFile, monotonicMs } from './line-file.ts';
import { toCalls, type Call, type Line, type Outcome, type Request } from './record.ts';

/** Logs what clients ask and are answered, a JSON line at each start and each end, into a file that is only appended to. */
export class Recorder implements Disposable {
  readonly #file: LineFile<Line>;
  #given = 0;

  constructor(path: string) {
    this.#file = new LineFile(path);
  }

  /** Does the work between its two lines. Work that throws has an unknown end, and throws on. */
  async record<Done extends Outcome>(request: Request, work: () => Promise<Done>): Promise<Done> {
    this.#given += 1;
    const id = `${process.pid}-${this.#given}`;
    this.#file.append({ line: 'start', id, at: monotonicMs(), ...request });
    try {
      const done = await work();
      this.#file.append({ line: 'end', id, at: monotonicMs(), end: done.end, result: done.result });
      return done;
    } catch (error) {
      const note = error instanceof Error ? error.message : String(error);
      this.#file.append({ line: 'end', id, at: monotonicMs(), end: 'unknown', result: { note } });
      throw error;
    }
  }

  /**
   * Reads a state while clients may go on: the calls it can be held against are all that had begun when it had been
   * read, ended only where they had ended before.
   */
  async around<State>(read: () => Promise<State>): Promise<{ calls: Call[]; state: State }> {
    const before = this.lines().filter((line) => line.line === 'end');
    const state = await read();
    return { calls: toCalls([...this.lines().filter((line) => line.line === 'start'), ...before]), state };
  }

  lines(): Line[] {
    return this.#file.read();
  }

  [Symbol.dispose](): void {
    this.#file[Symbol.dispose]();
  }
}
