import type { WatcherState } from '../../src/core/daemon-condition.ts';

/** What one sweep found. */
export interface Swept {
  /** The paths that changed, each with the moment before which it had not yet. */
  readonly changed: readonly { readonly path: string; readonly since: number }[];
  /** Whether a path was seen for the first time: what happened to it before this sweep cannot be told. */
  readonly first: boolean;
}

/** Tells which of the watched paths changed since the sweep before, by what `stat` shows of them. */
export class Sweep {
  readonly #statPrint: (path: string) => Promise<string>;
  #seen = new Map<string, { print: string; at: number }>();

  constructor(statPrint: (path: string) => Promise<string>) {
    this.#statPrint = statPrint;
  }

  /** One sweep, one `stat` at a time, so that a file system that hangs takes one thread and no more (W27). */
  async run(paths: readonly string[], now: () => number): Promise<Swept> {
    const seen = new Map<string, { print: string; at: number }>();
    const changed: { path: string; since: number }[] = [];
    let first = false;
    for (const path of paths) {
      const at = now();
      const print = await this.#statPrint(path);
      const before = this.#seen.get(path);
      if (before === undefined) first = true;
      else if (before.print !== print) changed.push({ path, since: before.at });
      seen.set(path, { print, at });
    }
    this.#seen = seen;
    return { changed, first };
  }
}

/** Milliseconds between sweeps while they have to stand in for events, and while each of them takes long. */
const degradedMs = 250;
const slowPaceMs = 5000;
const slowSweepMs = 200;

/** How long to wait before the next sweep (`watching.md` 3.3, 3.5). */
export function sweepPauseMs(watcher: WatcherState, sweepMs: number, lastTookMs: number): number {
  if (watcher === 'native') return sweepMs;
  const pace = watcher === 'degraded' ? Math.min(degradedMs, sweepMs) : sweepMs;
  return lastTookMs > slowSweepMs ? Math.max(slowPaceMs, pace) : pace;
}
