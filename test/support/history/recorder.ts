import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import { toCalls, type Call, type Line, type Outcome, type Request } from './record.ts';

/** Logs what clients ask and are answered, a JSON line at each start and each end, into a file that is only appended to. */
export class Recorder implements Disposable {
  readonly path: string;
  readonly #file: number;
  #given = 0;

  constructor(path: string) {
    this.path = path;
    this.#file = openSync(path, 'a');
  }

  /** Does the work between its two lines. Work that throws has an unknown end, and throws on. */
  async record<Done extends Outcome>(request: Request, work: () => Promise<Done>): Promise<Done> {
    this.#given += 1;
    const id = `${process.pid}-${this.#given}`;
    this.#write({ line: 'start', id, at: now(), ...request });
    try {
      const done = await work();
      this.#write({ line: 'end', id, at: now(), end: done.end, result: done.result });
      return done;
    } catch (error) {
      const note = error instanceof Error ? error.message : String(error);
      this.#write({ line: 'end', id, at: now(), end: 'unknown', result: { note } });
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
    return readFileSync(this.path, 'utf8')
      .split('\n')
      .filter((text) => text !== '')
      .map((text) => JSON.parse(text) as Line);
  }

  [Symbol.dispose](): void {
    closeSync(this.#file);
  }

  #write(line: Line): void {
    writeSync(this.#file, `${JSON.stringify(line)}\n`);
  }
}

/** Milliseconds of the clock that all processes of a machine share and nobody sets. */
function now(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
