import { systemClock, type Clock } from '../../daemon/clock.ts';

/** A clock that stands still until a test moves it; sleepers wake in order of their time. */
export class FakeClock implements Clock {
  #now = 0;
  #sleepers: { at: number; wake: () => void }[] = [];

  now(): number {
    return this.#now;
  }

  sleep(ms: number): Promise<void> {
    return new Promise((wake) => {
      this.#sleepers.push({ at: this.#now + Math.max(0, ms), wake });
    });
  }

  /** Moves time on, waking everybody on the way and letting them act. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await settle();
    for (;;) {
      const next = this.#sleepers.toSorted((a, b) => a.at - b.at)[0];
      if (!next || next.at > end) break;
      this.#sleepers.splice(this.#sleepers.indexOf(next), 1);
      this.#now = next.at;
      next.wake();
      await settle();
    }
    this.#now = end;
    await settle();
  }

  /** Moves time on until a promise is settled, which real database work stands between. */
  async during<T>(work: Promise<T>): Promise<T> {
    const state = { over: false };
    const settled = () => {
      state.over = true;
    };
    work.then(settled, settled);
    while (!state.over) await this.advance(20);
    return work;
  }
}

/** Lets every promise that can go on do so. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** The real time, so many times as fast: for journeys through waits that real parts need not be given. */
export function hurriedClock(factor: number): Clock {
  return {
    now: () => systemClock.now() * factor,
    sleep: (ms, signal) => systemClock.sleep(ms / factor, signal),
  };
}
