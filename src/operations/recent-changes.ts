import type { Change } from '../store/changes.ts';

/** The end of the log's changes, in memory, for those who have nearly read it all. */
export class RecentChanges {
  /** Changes kept at most; whoever is further behind reads them from the database. */
  static readonly most = 2000;

  readonly #changes: Change[] = [];
  /** Every change above this number and up to `#head` is kept. */
  #floor: number;
  #head: number;

  constructor(head: number) {
    this.#floor = head;
    this.#head = head;
  }

  /** The number of the log's last event that is known here. */
  get head(): number {
    return this.#head;
  }

  /** Takes over all changes above the head, up to a new one. */
  add(changes: readonly Change[], head: number): void {
    this.#changes.push(...changes);
    this.#head = head;
    const tooMany = this.#changes.length - RecentChanges.most;
    if (tooMany > 0) this.#floor = this.#changes.splice(0, tooMany).at(-1)?.sequence ?? this.#floor;
  }

  /** The changes behind a number, oldest first; null where not all of them are kept. */
  behind(cursor: number): readonly Change[] | null {
    if (cursor < this.#floor) return null;
    let [low, high] = [0, this.#changes.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#changes[middle]?.sequence ?? 0) > cursor) high = middle;
      else low = middle + 1;
    }
    return this.#changes.slice(low);
  }
}
