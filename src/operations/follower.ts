import type { Caller } from '../core/permissions.ts';

/** One who follows: asleep until there is something new, or until he is to go. */
export class Follower {
  readonly caller: Caller;
  /** Everything up to this number has been given to him, or is not for him. */
  place: number;
  #ended: { readonly reason: unknown } | undefined;
  #wake: () => void = () => undefined;

  constructor(caller: Caller, place: number) {
    this.caller = caller;
    this.place = place;
  }

  wake(): void {
    this.#wake();
  }

  /** The first reason stands; null: he has left by himself. */
  end(reason: unknown): void {
    this.#ended ??= { reason };
    this.#wake();
  }

  /** Throws the reason, where there is one. */
  hasEnded(): boolean {
    if (this.#ended === undefined) return false;
    if (this.#ended.reason !== null) throw this.#ended.reason;
    return true;
  }

  async woken(): Promise<void> {
    if (this.#ended) return;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
  }
}
