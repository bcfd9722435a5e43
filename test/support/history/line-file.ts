import { closeSync, existsSync, openSync, readFileSync, writeSync } from 'node:fs';

/** A file of JSON lines that is only appended to, by any number of processes at once; it outlives their death. */
export class LineFile<Line extends object> implements Disposable {
  readonly path: string;
  readonly #file: number;

  constructor(path: string) {
    this.path = path;
    this.#file = openSync(path, 'a');
  }

  append(line: Line): void {
    writeSync(this.#file, `${JSON.stringify(line)}\n`);
  }

  read(): Line[] {
    return readLines<Line>(this.path);
  }

  [Symbol.dispose](): void {
    closeSync(this.#file);
  }
}

/** What such a file holds; nothing where there is none yet. */
export function readLines<Line extends object>(path: string): Line[] {
  if (!existsSync(path)) return [];
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((text) => text !== '')
    .map((text) => JSON.parse(text) as Line);
}

/** Milliseconds of the clock that all processes of a machine share and nobody sets. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
