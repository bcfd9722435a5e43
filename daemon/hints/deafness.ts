/** A watcher is deaf after so many changes in so long that no event announced (`watching.md` 3.3). */
const missedAtMost = 3;
const withinMs = 600_000;

/** How long an event may come after the sweep has seen its change: both are late while the machine is busy. */
const graceMs = 2000;

/** The reason as it is told. */
export const deafReason = `The watcher is deaf: ${missedAtMost} changes within ${withinMs / 60_000} minutes came without an event.`;

/** A change that the sweep found, not announced so far. */
interface Suspect {
  readonly key: string;
  /** The change came after this moment, and so must its event. */
  readonly since: number;
  readonly seenAt: number;
}

/** Compares what the sweep finds with what the watcher announces, for every watcher tried goes silent somewhere. */
export class Deafness {
  #keys: ReadonlySet<string> = new Set();
  readonly #heardAt = new Map<string, number>();
  #suspects: Suspect[] = [];
  #missed: number[] = [];

  /** Compares these files from now on, the ones that both nets look at. */
  compare(paths: readonly string[]): void {
    this.#keys = new Set(paths.map(keyOf));
  }

  /** The watcher told of something at this path. */
  heard(path: string, now: number): void {
    const key = keyOf(path);
    if (this.#keys.has(key)) this.#heardAt.set(key, now);
  }

  /** The sweep found a change at this path that came after `since`. */
  found(path: string, since: number, now: number): void {
    const key = keyOf(path);
    if (this.#keys.has(key)) this.#suspects.push({ key, since, seenAt: now });
  }

  /** Judges the changes whose time for an event is over: whether one was announced, and whether too many were not. */
  judge(now: number): { readonly heard: boolean; readonly deaf: boolean } {
    const due = this.#suspects.filter((suspect) => now - suspect.seenAt >= graceMs);
    this.#suspects = this.#suspects.filter((suspect) => now - suspect.seenAt < graceMs);
    const unheard = due.filter(({ key, since }) => (this.#heardAt.get(key) ?? -Infinity) < since);
    this.#missed = [...this.#missed.filter((at) => now - at <= withinMs), ...unheard.map(() => now)];
    const deaf = this.#missed.length >= missedAtMost;
    if (deaf) this.forget();
    return { heard: unheard.length < due.length, deaf };
  }

  /** Begins anew, with another watcher. */
  forget(): void {
    this.#heardAt.clear();
    this.#suspects = [];
    this.#missed = [];
  }
}

/** Systems spell one name in several ways, even within one session (W19, W20); nothing but the count hangs on it here. */
function keyOf(path: string): string {
  return path.normalize('NFC').toLowerCase();
}
