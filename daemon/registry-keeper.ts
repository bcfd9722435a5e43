import { SourceError } from '../src/core/errors.ts';
import {
  acceptRegistry,
  readRegistryInForce,
  type RegistryInForce,
} from '../src/operations/accept-registry.ts';
import type { Context } from '../src/operations/context.ts';
import type { Clock } from './clock.ts';

/** Time between the two readings of a registry that must agree: it is written by the same tools as the knowledge. */
const settleMs = 100;

/** Readings until a registry that keeps changing is left for the next hint. */
const maxReadings = 20;

/** Keeps the registry in force in step with its file; the last good one stays whatever happens to the file (K-012). */
export class RegistryKeeper {
  readonly #context: Context;
  readonly #read: () => Promise<Uint8Array | null>;
  readonly #clock: Clock;
  readonly #actorId: number;
  readonly #watchEnvironments: readonly string[];
  readonly #print: () => Promise<string>;
  #lastPrint = '';
  #last: Promise<void> = Promise.resolve();
  #next: Promise<RegistryInForce> | null = null;
  #inForce: RegistryInForce = { registry: null, faults: [], changed: false };

  constructor(options: {
    readonly context: Context;
    readonly read: () => Promise<Uint8Array | null>;
    readonly clock: Clock;
    readonly actorId: number;
    readonly watchEnvironments: readonly string[];
    /** A text that changes when the file does, cheaply. */
    readonly print: () => Promise<string>;
  }) {
    this.#context = options.context;
    this.#read = options.read;
    this.#clock = options.clock;
    this.#actorId = options.actorId;
    this.#watchEnvironments = options.watchEnvironments;
    this.#print = options.print;
  }

  get inForce(): RegistryInForce {
    return this.#inForce;
  }

  /** Looks only when the file is another than at the last look: for those who cannot wait for a hint. */
  async lookIfChanged(): Promise<void> {
    await this.#last;
    if ((await this.#print()) !== this.#lastPrint) await this.look();
  }

  /**
   * Reads the file and puts it in force, or keeps what is. One reading after the other, and one that has not begun yet
   * serves everybody who asks meanwhile: a file that is written all the time makes no queue.
   */
  look(): Promise<RegistryInForce> {
    this.#next ??= this.#last.then(() => {
      this.#next = null;
      const looking = this.#lookNow();
      this.#last = looking.then(
        () => undefined,
        () => undefined, // Whoever asked for this reading is told; the next one starts afresh.
      );
      return looking;
    });
    return this.#next;
  }

  async #lookNow(): Promise<RegistryInForce> {
    this.#lastPrint = await this.#print();
    const bytes = await this.#readSettled();
    this.#inForce =
      bytes === 'changing'
        ? { ...(await this.#current()), changed: false }
        : await acceptRegistry(this.#context, {
            bytes,
            actorId: this.#actorId,
            watchEnvironments: this.#watchEnvironments,
          });
    return this.#inForce;
  }

  async #current(): Promise<RegistryInForce> {
    return this.#inForce.registry === null ? readRegistryInForce(this.#context) : this.#inForce;
  }

  /** Two equal readings a moment apart. */
  async #readSettled(): Promise<Uint8Array | null | 'changing'> {
    let before = await this.#readPatiently();
    for (let reading = 1; reading < maxReadings; reading += 1) {
      await this.#clock.sleep(settleMs);
      const now = await this.#readPatiently();
      if (sameBytes(before, now)) return now;
      before = now;
    }
    return 'changing';
  }

  /** A registry that is there and cannot be read counts as absent: the last good one stays, and the refusal is told. */
  async #readPatiently(): Promise<Uint8Array | null> {
    try {
      return await this.#read();
    } catch (error) {
      if (error instanceof SourceError) return null;
      throw error;
    }
  }
}

function sameBytes(a: Uint8Array | null, b: Uint8Array | null): boolean {
  if (a === null || b === null) return a === b;
  return a.length === b.length && Buffer.compare(a, b) === 0;
}
