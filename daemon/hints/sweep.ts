/** Tells which of the watched paths changed since the sweep before, by what `stat` shows of them. */
export class Sweep {
  readonly #statPrint: (path: string) => Promise<string>;
  #prints = new Map<string, string>();

  constructor(statPrint: (path: string) => Promise<string>) {
    this.#statPrint = statPrint;
  }

  /**
   * One sweep: the paths whose print differs from the last one; none on a path's first sight. One `stat` at a time, so
   * that a file system that hangs takes one thread and no more.
   */
  async run(paths: readonly string[]): Promise<string[]> {
    const prints = new Map<string, string>();
    const changed: string[] = [];
    for (const path of paths) {
      const print = await this.#statPrint(path);
      const before = this.#prints.get(path);
      if (before !== undefined && before !== print) changed.push(path);
      prints.set(path, print);
    }
    this.#prints = prints;
    return changed;
  }
}
