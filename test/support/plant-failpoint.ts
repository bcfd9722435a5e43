import { existsSync, renameSync, writeFileSync } from 'node:fs';
import type { Failpoint } from '../../src/core/failpoint.ts';
import { eventually } from './processes.ts';

/** What a process does to itself at a failpoint: `reliability.md` 3.6, a retryable error (F28), errors that nobody awaits (F12). */
export type FailAction =
  | 'kill'
  | 'stop'
  | 'disconnect'
  | 'throw'
  | 'throw 40001'
  | 'reject in nobody’s name'
  | 'throw in nobody’s name';

export interface Planted {
  readonly point: Failpoint;
  readonly action: FailAction;
  readonly times: number;
}

/** The failpoints of one process: what is planted goes off the next time it comes to that point. */
export class Failpoints {
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  /** The environment that makes a process the test build that reads these failpoints. */
  get env(): Readonly<Record<string, string>> {
    const preload = new URL('failpoints.ts', import.meta.url).href;
    return { NODE_OPTIONS: `--import=${preload}`, AGENT_KNOWLEDGE_FAILPOINT_FILE: this.#file };
  }

  plant(point: Failpoint, action: FailAction, times = 1): void {
    const planted: Planted = { point, action, times };
    // Renamed into place, so that nobody reads half of it.
    writeFileSync(`${this.#file}.new`, JSON.stringify(planted));
    renameSync(`${this.#file}.new`, this.#file);
  }

  get isPlanted(): boolean {
    return existsSync(this.#file);
  }

  /** Resolves when what was planted has gone off. */
  async gone(timeoutMs = 30_000): Promise<void> {
    await eventually(
      async () => this.isPlanted,
      (planted) => !planted,
      timeoutMs,
    );
  }
}
